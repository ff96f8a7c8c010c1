"""What Murhekar et al. 2025 print: Table 1, the weights of Appendix E, and the units that they belong to."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MEASURES", "PRINTED", "RULES", "Printed"]

#: without payments, cost sharing (Murhekar et al. 2023), Shapley shares
RULES = ("M^0", "M^BG", "M^Shap")
#: the columns of Table 1
MEASURES = ("accuracy %", "share %", "data gain", "acc. gain", "reciprocity")

Three = tuple[float, float, float]


@dataclass(frozen=True)
class Printed:
    """One data set: Table 1 by column, and the fitted accuracy function that it was computed on.

    weights    Appendix E: what a batch of one group is worth to another (empty: not printed)
    members    owners of a group
    batch      samples of a batch, the unit of contributions
    most       batches that an owner may give
    batches    batches that an owner has
    """

    title: str
    table: dict[str, Three]
    weights: tuple[tuple[float, ...], ...] = ()
    members: int = 10
    batch: int = 10
    most: float = 100.0
    batches: float = 100.0


def _columns(*columns: Three) -> dict[str, Three]:
    return dict(zip(MEASURES, columns, strict=True))


PRINTED = {
    "mnist": Printed(
        "MNIST",
        _columns((88.3, 87.6, 90.4), (5.8, 7.6, 54.9), (1, 1.32, 9.51), (1, 0.99, 1.02), (0.61, 0.70, 1)),
        ((3.1e-3, 4.7e-4, 4.4e-4), (6.7e-4, 1.9e-3, 6.5e-4), (9.3e-4, 8.3e-4, 2.1e-3)),
        batches=5440 / 30,
    ),
    "fashion_mnist": Printed(
        "FashionMNIST",
        _columns((60.9, 61.5, 63.3), (4.1, 6.2, 54.8), (1, 1.51, 13.43), (1, 1.02, 1.05), (0.47, 0.75, 1)),
        ((1.3e-3, 3.1e-4, 5.7e-4), (1.0e-4, 1.5e-3, 2.6e-4), (4.9e-4, 4.4e-4, 1.6e-3)),
        batches=5440 / 30,
    ),
    "cifar10": Printed(
        "CIFAR-10",
        _columns((43.6, 44.7, 48.5), (25.6, 28.9, 99.6), (1, 1.13, 3.89), (1, 1.02, 1.11), (0.50, 0.57, 1)),
        ((5.8e-3, 1.4e-3, 7.9e-4), (2.5e-3, 6.1e-3, 7.4e-4), (4.2e-3, 3.0e-3, 1.8e-3)),
        batch=64,
        most=27.0,
        batches=27.0,
    ),
    "lumpy_skin": Printed(
        "Lumpy skin",
        _columns((94.2, 94.0, 95.2), (46.7, 46.7, 81.3), (1, 1, 1.73), (1, 0.98, 1.01), (0.92, 0.02, 1)),
        ((1.2e-2, 9.1e-3), (1.4e-2, 1.6e-2)),
        members=1,
    ),
    "quadratic": Printed(
        "Quadratic",
        _columns((67.2, 65.8, 90.8), (3.3, 4.0, 99.6), (1, 1.25, 31.18), (1, 0.98, 1.36), (0.93, 0.95, 1)),
        members=1,
    ),
}
