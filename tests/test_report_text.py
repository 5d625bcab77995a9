"""Text for terminals: columns that line up, tables that stay inside the width, numbers that say enough."""

from __future__ import annotations

import pytest
from cli_support import small_grid, small_job

from mcettr.report.answer_text import alike
from mcettr.report.run_text import run_text
from mcettr.report.sweep_text import sweep_text
from mcettr.report.text import interval_text, number, share, short_labels, terminal_width, text_table


def test_columns_that_do_not_fit_go_below() -> None:
    headers = ["cause", *(f"column-{i}" for i in range(9))]
    rows = [["node", *("1,234,567" for _ in range(9))], ["software", *("1" for _ in range(9))]]
    text = text_table(headers, rows, width=50)
    assert max(map(len, text.splitlines())) <= 50
    blocks = text.split("\n\n")
    assert len(blocks) == 3
    assert all(block.startswith("cause") and "node" in block for block in blocks)
    assert text_table(headers, rows, width=200).count("cause") == 1


def test_a_column_wider_than_the_terminal_is_still_shown() -> None:
    text = text_table(["a", "b"], [["x" * 60, "y" * 60]], width=50)
    assert "y" * 60 in text


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("render", [lambda width: run_text(small_job(), width), lambda w: sweep_text(small_grid(), w)])
def test_results_stay_inside_the_width_without_cut_words(render: object, width: int) -> None:
    text = render(width)  # type: ignore[operator]
    assert max(map(len, text.splitlines())) <= width
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert text.isascii()
    assert "nan" not in text
    assert "inf" not in text.replace("informed", "")


def test_small_shares_are_not_rounded_to_nothing() -> None:
    assert (share(9.6e-21), share(0.0), share(float("nan"))) == ("9.6e-21", "0.0000", "-")
    assert (number(-5.0), number(0.001)) == ("-5", "0.001")


def test_labels_are_cut_only_where_they_stay_different() -> None:
    assert short_labels(["1.00000001 s", "1.00000002 s"]) == ["1.00000001 s", "1.00000002 s"]
    assert short_labels(["131072", "16384"]) == ["131072", "16384"]


def test_the_width_follows_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "123")
    assert terminal_width() == 123
    monkeypatch.setenv("COLUMNS", "3")
    assert terminal_width() == 40


def test_probabilities_have_the_digits_of_their_interval() -> None:
    assert interval_text(0.4953, 0.7271) == "0.50 to 0.73"
    assert interval_text(float("nan"), 1.0) == "-"
    assert "by 3 d (95 %)" in sweep_text(small_grid(), 200)


def test_values_of_one_sentence_share_unit_and_decimals() -> None:
    assert alike([117.0, 112.0, 121.8], "s") == ["117 s", "112 s", "122 s"]
    assert alike([21.1, 21.0, 21.2], "s") == ["21.1 s", "21.0 s", "21.2 s"]
    assert alike([12288.0, 12280.0, 12296.0], "1") == ["12,288", "12,280", "12,296"]
    assert alike([6.5, 6.41, 6.6], "1 / 1000 node-days")[1] == "6.41 / 1000 node-days"
    assert alike([1e8, 0.9e8, 1.1e8], "s")[0].endswith(" years")
    assert alike([10.0, 0.001, 86400.0], "s") == ["10 s", "1 ms", "24 h"]
