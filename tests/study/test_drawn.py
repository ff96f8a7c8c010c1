"""Pictures that a script leaves open."""

import matplotlib.pyplot as plt
import pytest

from fedabm.study.drawn import closing_pictures


def test_pictures_of_a_script_that_breaks_off_are_closed_and_no_others():
    def draw_and_fail():
        plt.figure()
        raise ValueError("broke off")

    mine, before = plt.figure(), set(plt.get_fignums())
    with pytest.raises(ValueError, match="broke off"), closing_pictures():
        draw_and_fail()
    assert set(plt.get_fignums()) == before
    plt.close(mine)


def test_a_sweep_of_scripts_leaves_no_picture_open(tmp_path):
    from fedabm.sweep import Grid, Sweep

    before = set(plt.get_fignums())
    Sweep("free_riding", Grid(owners=[2, 3]), seeds=1).run(tmp_path / "out", executor="serial", quiet=True)
    assert set(plt.get_fignums()) == before
