"""Adapters of a frozen language model are rows like any other, equal to peft's, and found with less work."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
import torch

if find_spec("transformers") is None or find_spec("peft") is None:
    pytest.skip("the extra llm is not installed", allow_module_level=True)

from fedabm import Federation, InputError, MissingExtraError, population
from fedabm.data.federated import IGNORED
from fedabm.data.instructions import Example, Task
from fedabm.games.costs import Linear
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.flat import Layout
from fedabm.learning.engine.general import answer_losses
from fedabm.learning.engine.optimisers import AdamW, CosineSchedule
from fedabm.learning.language import activations
from fedabm.learning.language.adapters import Adapted, Adapter
from fedabm.learning.language.answers import AnswerScores
from fedabm.learning.language.exchange import read_adapter, write_adapter
from fedabm.learning.language.frozen import share
from fedabm.learning.language.instructions import instructed
from fedabm.learning.language.models import ModelSource, checksum, load, transformers
from fedabm.learning.language.writing import written
from fedabm.learning.oracles import Measure, Rounds
from fedabm.learning.personal.models import Personal
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.shards.network import frozen_bytes
from fedabm.learning.shards.worker import WorkerSettings
from fedabm.mechanisms import ModelMarket, ShapleyShare
from fedabm.mechanisms.market import ImportGain
from fedabm.simulation import checkpoint
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.strategies import Attacker, Honest
from tests.conftest import assert_equal_frames
from tests.learning.small_models import owned, saved, small

ADAPTER = Adapter(rank=2, alpha=4.0, last=1)
ADAMW = AdamW(0.05, weight_decay=0.1)


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    return small(tmp_path_factory.mktemp("causal"), "causal")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return small(tmp_path_factory.mktemp("encoder"), "encoder")


def test_three_steps_of_the_engine_are_three_steps_of_peft(causal, tmp_path):
    """The adapter is handed to peft in its own format, trained there by PyTorch's AdamW, and read back."""
    transformers()
    import peft

    data = owned(causal, owners=1)
    engine = Engine(Adapted(causal, ADAPTER, answers=2), data)
    start = engine.initial(3)
    ours = engine.train(start, data.capacities, steps=3, batch=6, optimiser=ADAMW)[0]

    write_adapter(engine._network, start, tmp_path / "start")
    model = peft.PeftModel.from_pretrained(_again(causal), tmp_path / "start", is_trainable=True)
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.05, weight_decay=0.1)
    x, y = torch.from_numpy(data.x_train).long(), torch.from_numpy(data.y_train)
    present = x < causal.tokens
    for _ in range(3):
        optimiser.zero_grad()
        places = (present.long().cumsum(-1) - 1).clamp(min=0)
        found = model(x.where(present, 0), attention_mask=present.long(), position_ids=places).logits[:, -3:-1]
        torch.nn.functional.cross_entropy(found.flatten(0, 1), y.flatten()).backward()
        optimiser.step()
    model.save_pretrained(tmp_path / "end")
    theirs = read_adapter(engine._network, tmp_path / "end")
    assert (ours - start).abs().max() > 0.05
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=0)


def _again(base):
    """A copy that peft may change."""
    import copy

    return copy.deepcopy(base.model)


@pytest.mark.parametrize("kind", ["causal", "encoder"])
def test_cached_activations_change_nothing_in_memory_or_on_disk(kind, request, tmp_path, monkeypatch):
    base = request.getfixturevalue(kind)
    data, what = owned(base), {"answers": 2} if kind == "causal" else {"classes": 3}
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    kept = Engine(Adapted(base, ADAPTER, **what), data)
    monkeypatch.setattr(activations, "IN_MEMORY", 0)
    filed = Engine(Adapted(base, ADAPTER, **what), data)
    plain = Engine(Adapted(base, ADAPTER, cached=False, **what), data)
    assert len(list((tmp_path / "activations").glob("*.npy"))) == 2
    assert kept.initial(0).equal(plain.initial(0))
    rows = [
        one.train(one.initial(0), data.capacities, steps=3, batch=4, optimiser=ADAMW) for one in (kept, filed, plain)
    ]
    assert rows[0].equal(rows[1])
    torch.testing.assert_close(rows[0], rows[2], atol=1e-5, rtol=0)
    assert engine_size(base) > 20 * kept.size


def test_workers_get_what_nobody_trains_once_and_no_front_that_they_do_not_need(causal):
    """The tail of a model whose front has done its work, else the whole of it, though front and tail both hold it."""
    pytest.importorskip("ray", reason="Ray, which packs networks, is not installed")
    whole = 4 * engine_size(causal)
    sent = {}
    for cached in (True, False):
        network = Adapted(causal, ADAPTER, answers=2, cached=cached)
        settings = pickle.loads(pickle.dumps(WorkerSettings(network.prepared(), "serial", "float32", None)))
        x = network.prepare(torch.from_numpy(owned(causal).x_train))
        assert settings.network(x).equal(network(x))
        assert copy.deepcopy(settings.network).tail.lm_head.weight is settings.network.tail.lm_head.weight
        sent[cached] = frozen_bytes(network.prepared())
    assert sent[True] < 0.6 * whole < whole <= sent[False] < 1.1 * whole


def test_a_network_that_moves_takes_what_is_frozen_along_and_what_was_one_stays_one(encoder):
    network = Adapted(encoder, ADAPTER, classes=3)
    x = network.prepare(torch.from_numpy(owned(encoder).x_train))
    moved = copy.deepcopy(network).to(torch.float64)
    assert {tensor.dtype for tensor in share(moved.tail) if tensor.is_floating_point()} == {torch.float64}
    torch.testing.assert_close(moved(x.double()), network(x).double(), atol=1e-4, rtol=1e-4)
    assert moved(x.double()).dtype == torch.float64
    assert {tensor.dtype for tensor in share(network.tail) if tensor.is_floating_point()} == {torch.float32}
    assert {tensor.device.type for tensor in share(copy.deepcopy(network).to("meta").tail)} == {"meta"}


def engine_size(base) -> int:
    return sum(parameter.numel() for parameter in base.model.parameters())


@pytest.mark.parametrize("kind", ["causal", "encoder"])
@pytest.mark.parametrize("last", [1, 2, None])
def test_texts_in_one_row_are_texts_with_padding(kind, last, request):
    """Gradients and scores as with padding, which dropout of nearly nothing needs and which it changes by as little."""
    base = request.getfixturevalue(kind)
    data, what = owned(base), {"answers": 2} if kind == "causal" else {"classes": 3}
    lengths = (data.x_train < base.tokens).sum(-1)
    assert lengths.min() < lengths.max()
    row = Adapted(base, replace(ADAPTER, last=last), **what)
    filled = Adapted(base, replace(ADAPTER, last=last, dropout=1e-9), **what)
    assert row._asked is not None
    assert filled._asked is None
    engines = [Engine(network, data) for network in (row, filled)]
    found = [one.train(one.initial(0), data.capacities, steps=3, batch=4, optimiser=ADAMW) for one in engines]
    torch.testing.assert_close(*found, atol=1e-4, rtol=0)
    scores = [one.evaluate(models) for one, models in zip(engines, found, strict=True)]
    torch.testing.assert_close(scores[0].loss, scores[1].loss, atol=1e-4, rtol=1e-4)
    assert scores[0].accuracy.equal(scores[1].accuracy)


def test_a_model_with_an_attention_of_its_own_gets_padding(encoder, monkeypatch):
    """What the packed attention does not know it refuses, and the model is then used as it is."""
    from fedabm.learning.language import packed

    def windowed(module, query, key, value, mask, **told):
        return packed._attention(module, query, key, value, mask, sliding_window=4, **told)

    library = transformers()
    with monkeypatch.context() as patch:
        patch.setattr(packed, "_NAME", "windowed")
        patch.setattr(packed, "transformers", lambda: _Registering(library, windowed))
        network = Adapted(encoder, ADAPTER, classes=3)
    assert network._asked is None
    x = torch.from_numpy(owned(encoder).x_train)
    torch.testing.assert_close(network(x), _same_head(Adapted(encoder, ADAPTER, classes=3), network)(x))


class _Registering:
    """The library, in which another attention is registered than is asked for."""

    def __init__(self, library, attention):
        register = library.AttentionInterface.register
        self.AttentionInterface = type("Other", (), {"register": lambda name, _: register(name, attention)})


def _same_head(network, other):
    network.load_state_dict(other.state_dict())
    return network


def test_only_labels_that_count_are_guessed(causal):
    """What is asked for alone is what is said among all."""
    network = Adapted(causal, ADAPTER, answers=2)
    x = torch.from_numpy(owned(causal).x_train).long()
    counted = torch.zeros(len(x), 2, dtype=torch.bool)
    counted[1, 0], counted[3] = True, True
    torch.testing.assert_close(network.said(x, counted), network(x)[counted])
    assert network.said(x, counted).shape == (3, causal.tokens)


def test_what_is_written_is_what_the_model_would_write(causal):
    """Fresh adapters add nothing: the base's own likeliest tokens, one after the other; a sign of the end ends it."""
    network = Adapted(causal, ADAPTER, answers=2)
    row = Engine(network, owned(causal)).initial(0)
    for prompt in ([5], [5, 6, 7, 8, 9]):
        said: list[int] = []
        for _ in range(6):
            said.append(int(causal.model(torch.tensor([prompt + said])).logits[0, -1].argmax()))
        found = written(network, row, prompt, 6)
        assert found == said
        assert written(network, row, prompt, 6, end=said[2]) == said[: said.index(said[2])]
    with pytest.raises(InputError, match="numbers"):
        written(network, row[:-1], [5], 2)


def test_an_instruction_that_is_too_long_loses_its_end(causal):
    """Ten tokens: the end of the prompt, two of the answer and one of the text are kept."""
    template = ("{instruction} ", "Sentiment:")
    task = Task("texts", [Example("bank " * 20, "rise fall", "positive")], [Example("bank", "rise", "neutral")])
    data = instructed(causal, [task], 10, 2, template)
    said = causal.tokeniser.convert_ids_to_tokens(data.x_train[0].tolist())
    assert said == ["bank"] * 6 + ["rise", "Sentiment:", "positive", "<end>"]
    with pytest.raises(InputError, match="raise length"):
        instructed(causal, [task], 3, 2, ("bank {instruction} ", "Sentiment:"))


def test_adapters_of_all_layers_need_no_cut(causal):
    data = owned(causal)
    engine = Engine(Adapted(causal, replace(ADAPTER, last=None), answers=2), data)
    assert sum(name.endswith("q_proj.down") for name in Layout.of(engine._network).names) == 3
    models = engine.train(engine.initial(0), data.capacities, steps=2, batch=4, optimiser=ADAMW)
    assert models.isfinite().all()


def test_dropout_depends_on_the_owner_alone(causal):
    data = owned(causal)
    engine = Engine(Adapted(causal, replace(ADAPTER, dropout=0.5), answers=2), data)
    start = engine.initial(0)
    both = engine.train(start, data.capacities, steps=2, batch=4, optimiser=ADAMW)
    alone = engine.train(start, data.capacities[1:], steps=2, batch=4, optimiser=ADAMW, owners=[1])
    assert both[1].equal(alone[0])


def test_an_answer_is_right_if_greedy_decoding_gives_it(causal):
    """What the base itself would write is right to the letter, and with another last word it is not."""
    data = owned(causal, owners=1, samples=5)
    engine = Engine(Adapted(causal, ADAPTER, answers=2), data)
    x = torch.from_numpy(data.x_test).long()
    prompt, present = x[:, :-2], x[:, :-2] < causal.tokens
    how = {"max_new_tokens": 2, "min_new_tokens": 2, "do_sample": False, "pad_token_id": 0, "suppress_tokens": []}
    with torch.no_grad():
        written = causal.model.generate(prompt.where(present, 0), attention_mask=present.long(), **how)[:, -2:]
    right = np.concatenate([data.x_test[:, :-2], written.numpy()], axis=1).astype(np.int32)
    wrong = written.clone()
    wrong[:, 1] = (wrong[:, 1] + 1) % causal.tokens
    for answers, part in ((written, 1.0), (wrong, 0.0)):
        told = replace(data, x_test=right, y_test=answers.numpy())
        judged = Engine(Adapted(causal, ADAPTER, answers=2), told)
        assert judged.evaluate(judged.initial(0)).accuracy.item() == part
    assert engine.evaluate(engine.initial(0)).loss.isfinite().all()


def test_ignored_labels_do_not_count():
    """Two labels with chances 1/2 and 1/4, of which the second is ignored: ln 2 instead of (ln 2 + ln 4) / 2."""
    outputs = torch.tensor([[[1.0, 1.0], [1.0, 3.0]]]).log()
    assert answer_losses(outputs, torch.tensor([[0, 0]])).item() == pytest.approx(1.5 * np.log(2))
    assert answer_losses(outputs, torch.tensor([[0, IGNORED]])).item() == pytest.approx(np.log(2))


def test_likely_answers_are_worth_their_likelihood(causal):
    data = owned(causal)
    engine = Engine(Adapted(causal, ADAPTER, answers=2), data)
    models = engine.initial(0).expand(2, -1)
    loss = engine.evaluate(models[0]).loss[0]
    found = AnswerScores(frozenset({1})).own(engine, models)
    assert found[1] == pytest.approx(np.exp(-loss[1].item()))


def people(data, strategies=None) -> tuple[OwnerProfile, ...]:
    chosen = strategies or {}
    owner = OwnerProfile(Linear(1.0), 6.0, Honest(), eagerness=600.0, role="trader")
    return tuple(replace(owner, strategy=chosen.get(i, Honest())) for i in range(data.owners))


def market(causal, strategies=None, steps=3) -> Scenario:
    data = owned(causal, owners=3)
    recipe = Recipe(steps=2, batch=4, optimiser=AdamW(0.01), schedule=CosineSchedule(3, 1e-3))
    accuracy = Personal(Engine(Adapted(causal, ADAPTER, answers=2), data), recipe, AnswerScores())
    rule = ModelMarket(0.1, 1.0)
    return Scenario(people(data, strategies), accuracy, rule, steps=steps, valuation=ImportGain(rule.gain))


def test_an_adapter_that_is_no_number_reaches_nobody(causal):
    honest = Federation(market(causal), 1).run().frames().owners
    assert honest["exports"].sum() > 0
    made = Federation(market(causal, {0: Attacker(Honest(), "nan")}), 1).run()
    found = made.frames().owners
    assert found[found["owner"] == 0]["exports"].sum() == 0
    assert made.state.models.isfinite().all()


def test_shapley_shares_of_coalitions_of_adapters(encoder):
    """Shares of what the mixed adapters of all coalitions are worth: what owners get is shared out, and no more."""
    data = owned(encoder, owners=3)
    recipe = Recipe(steps=3, batch=4, optimiser=AdamW(0.05))
    accuracy = Rounds(Engine(Adapted(encoder, ADAPTER, classes=3), data), recipe, more=2, measure=Measure("loss", 2.0))
    made = Federation(
        Scenario(population([0.001] * 3, data.capacities, Honest()), accuracy, ShapleyShare(), steps=2), 0
    )
    found = made.run().frames().owners
    assert found.groupby("step")["payment"].sum().abs().max() < 1e-9
    assert found[found["step"] > 0]["payment"].abs().max() > 1e-6


def test_a_killed_run_goes_on_from_its_checkpoint(causal, tmp_path):
    """What is stored are the owners' rows; the base is found again in the scenario."""
    made = Federation(market(causal), 4)
    made.step()
    kept = checkpoint.save(made, tmp_path / "run")
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 200_000
    again = checkpoint.restore(kept, made.scenario)
    assert_equal_frames(again.run().frames(), made.run().frames())


def test_rates_fall_from_round_to_round(causal):
    """A schedule that has come to its end moves models less than one that has not begun."""
    data = owned(causal)
    engine = Engine(Adapted(causal, ADAPTER, answers=2), data)
    recipe, start = Recipe(steps=1, batch=6, optimiser=AdamW(0.01), schedule=CosineSchedule(4, 1e-4)), engine.initial(0)
    first, last = (recipe.train(engine, start, data.capacities, 0, round).abs().max().item() for round in (0, 4))
    assert first == pytest.approx(0.01, rel=1e-3)
    assert last == pytest.approx(1e-4, rel=1e-2)


def test_a_model_of_the_hub_needs_its_revision_and_its_checksum(tmp_path):
    folder = tmp_path / "fake"
    saved(folder, "encoder")
    known = ModelSource("somebody/model", "encoder", revision="main", checksum=checksum(folder))

    def fetch(place: str, revision: str) -> str:
        assert (place, revision) == ("somebody/model", "main")
        return str(folder)

    assert load(known, fetch).width == 16
    with pytest.raises(InputError, match="expected 00"):
        load(replace(known, checksum="00"), fetch)
    with pytest.raises(InputError, match="revision and checksum"):
        load(ModelSource("somebody/model"), fetch)


def test_what_is_asked_of_a_model_that_has_it_not(causal):
    with pytest.raises(InputError, match="no linear layers called dense"):
        Adapted(causal, replace(ADAPTER, targets=("dense",)), answers=2)
    with pytest.raises(InputError, match="last must lie in 1"):
        Adapted(causal, replace(ADAPTER, last=4), answers=2)
    with pytest.raises(InputError, match="number of answers"):
        Adapted(causal, ADAPTER, classes=3)


def test_what_is_needed_to_read_a_model_is_named(tmp_path, monkeypatch):
    source = saved(tmp_path / "model", "encoder")

    def lacking(*_, **__):
        raise ImportError("gguf")

    monkeypatch.setattr(transformers().AutoTokenizer, "from_pretrained", lacking)
    with pytest.raises(MissingExtraError, match=r"needs gguf to be read; run pip install 'fedabm\[llm\]'"):
        load(source)
