"""Progress bars in notebooks: an output that is updated in place and becomes empty."""

import gc

import pytest
from test_inline_figures import shell as shell

import tacit
from tacit.show import progress as bars

pytestmark = pytest.mark.any_cpu


@pytest.fixture
def sent(shell, monkeypatch):
    """The messages to the notebook: the data, the output they belong to, and whether they update it."""
    found = []
    shell.display_pub.publish = lambda data, transient, update: found.append(
        (data, transient["display_id"], update)
    )
    monkeypatch.setattr(bars.NotebookBar, "_of_cell", (None, ""))
    monkeypatch.setattr(bars, "_PATIENCE", 0.0)
    monkeypatch.setattr(bars, "_REFRESH", 0.0)
    return found


def check(sent, label):
    assert len({output for _, output, _ in sent}) == 1
    assert [update for *_, update in sent] == [False, *[True] * (len(sent) - 1)]
    assert sent[-1][0] == {"text/html": "", "text/plain": ""}
    assert all(label in data["text/html"] and "<progress" in data["text/html"] for data, *_ in sent[:-1])
    shares = [float(data["text/html"].split('"')[1]) for data, *_ in sent[:-1]]
    assert shares == sorted(shares) and 0 <= shares[0] < shares[-1] <= 1


def test_a_loop_has_one_bar(sent, capsys):
    assert list(bars.progress(range(4), "a < b")) == [0, 1, 2, 3]
    check(sent, "a &lt; b: ")
    assert [data["text/plain"] for data, *_ in sent[:-1]] == [
        f"a < b: {i} of 4 ({25 * i}%)" for i in range(4)
    ]
    assert capsys.readouterr() == ("", "")


def test_bars_of_a_cell_share_an_output(sent, shell):
    for count in (2, 3):
        list(bars.progress(range(count), "x"))
    assert len({output for _, output, _ in sent}) == 1 and [update for *_, update in sent].count(False) == 1
    shell.execution_count += 1
    list(bars.progress(range(2), "x"))
    assert len({output for _, output, _ in sent}) == 2 and [update for *_, update in sent].count(False) == 2


def test_a_flow_has_one_bar(sent, capsys):
    tacit.flow(tacit.Diagonal(scale=0.1), [[1, 2]], [2], until=20.0)
    check(sent, "gradient flow: accuracy")
    assert capsys.readouterr() == ("", "")


def test_short_loops_and_silenced_ones_have_none(sent, monkeypatch):
    with bars.silenced():
        assert len(list(bars.progress(range(3), "x"))) == 3
    monkeypatch.setattr(bars, "_PATIENCE", 60.0)
    assert len(list(bars.progress(range(3), "x"))) == 3
    assert sent == []


def test_a_bar_that_is_interrupted_disappears(sent):
    def interrupted():
        for i in bars.progress(range(3), "x"):
            if i:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    gc.collect()  # the traceback kept the loop
    assert sent[-1][0] == {"text/html": "", "text/plain": ""}


def test_messages_are_at_most_five_each_second(sent, monkeypatch):
    monkeypatch.setattr(bars, "_REFRESH", 0.2)
    now = iter(range(10_000))
    monkeypatch.setattr(bars.time, "monotonic", lambda: next(now) / 1000)
    list(bars.progress(range(1000), "x"))
    ticks = next(now) / 1000  # seconds that passed, by this clock
    assert 2 <= len(sent) - 1 <= 5 * ticks + 1
