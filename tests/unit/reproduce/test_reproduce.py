"""The paper's runs, their price, and the tables with ours beside the published figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.model import Record
from pytest_hush.models.parrot import Parrot
from pytest_hush.reproduce import Measured, Table, jobs, tables
from pytest_hush.reproduce.cost import lines as cost_lines
from pytest_hush.reproduce.matrix import PAPER_MEMORIES, PAPER_MODELS, page_of, slug
from pytest_hush.reproduce.page import render
from pytest_hush.reproduce.text import lines as text_lines
from pytest_hush.stats.aggregate import Cell, Cells
from pytest_hush.stats.cluster import cluster_bounds
from tests.unit.factories import make_pack, make_plan, make_records

PACK = make_pack(personas=10, per_cell=3)
MODEL = "openai/gpt-4o"


def run(experiment: str, conditions: str, *, model: str = MODEL, invitations: bool = False) -> Measured:
    plan = make_plan(PACK, models=(model,), conditions=conditions, invitations=invitations)

    def scored(r: Record) -> Record:
        if not r.judgements or r.condition == "none":
            return r
        j = replace(r.judgements[0], target_uptake=0.75 if r.invited else 0.25)
        return replace(r, judgements=(j,))

    records = [scored(r) for r in make_records(plan, lambda c: 0.5 if c.persona < "p06" else 0.0)]
    return Measured(model, experiment, plan, records, Path("out") / slug(model))


def named(found: list[Table], name: str) -> dict[str, dict[str, str]]:
    (table,) = [t for t in found if t.name == name]
    return {row[1]: dict(zip(table.head, row, strict=True)) for row in table.rows}


def test_the_papers_matrix_is_four_generators_by_four_memories_and_the_controls() -> None:
    planned = jobs(PAPER_MODELS, PAPER_MEMORIES, Path("out"))
    assert len(planned) == 8
    assert planned[0].conditions == ("full-context", "mem0", "a-mem", "memu")
    assert planned[0].folder == Path("out/openai-gpt-4o-main")
    controls = planned[-1]
    assert {"oracle", "neutral", "irrelevant-sensitive", "vector", "oracle+revoked", "mem0+boundary"} <= set(
        controls.conditions
    )
    assert "--hush-invitations" in controls.arguments()
    assert "--hush-invitations" not in planned[0].arguments()
    assert planned[0].arguments(sample=40, resume=True, extra=["--hush-max-cost=3"])[-3:] == [
        "--hush-sample=40", "--hush-resume", "--hush-max-cost=3",
    ]  # fmt: skip


def test_one_experiment_can_be_chosen_and_nonsense_is_refused() -> None:
    assert {j.experiment.name for j in jobs(["parrot"], ["vector"], Path("o"), "controls")} == {"controls"}
    for arguments, expected in (
        ((["parrot"], ["vector"], Path("o"), "q2"), "--only='q2'"),
        (([], ["vector"], Path("o")), "--models"),
        ((["parrot"], [], Path("o")), "--memory"),
    ):
        with pytest.raises(UsageError, match=expected):
            jobs(*arguments)  # type: ignore[arg-type]


def test_folders_of_two_generators_never_collide() -> None:
    names = ["a/b", "a-b", "a b", "a:b", "python:my:model", "../up"]
    assert len({slug(n) for n in names[1:]}) == len(names) - 1
    assert all("/" not in slug(n) and not slug(n).startswith(".") for n in names)


def test_every_run_has_a_page_of_its_own_though_names_hold_dots() -> None:
    planned = jobs(["parrot/0.8", "parrot/0.6", "openai/gpt-4.1"], ["vector"], Path("o"))
    assert len({j.page for j in planned}) == len(planned) == 6
    assert planned[0].page == Path("o/parrot-0.8-main.html")


def test_the_page_names_its_tables_warns_of_the_judge_and_links_to_the_runs(tmp_path: Path) -> None:
    runs = [
        replace(run(name, "vector"), folder=tmp_path / f"parrot-0.8-{name}", screening=name == "main")
        for name in ("main", "controls")
    ]
    page_of(runs[0].folder).write_text("a page", encoding="utf-8")
    told = tables(runs)
    page = render(told, runs, plugin_version="0.1.0", missing=[])
    assert "Screening judge: the embedded judge sorts replies by rules; it is not calibrated against people." in page
    assert 'href="./parrot-0.8-main.html"' in page
    assert 'parrot-0.8-controls.html"' not in page, "that page is not there"
    assert '<a href="#uis">Q1: conditions</a>' in page
    (alive,) = [t for t in told if t.name == "usefulness"]
    assert [row[1:3] for row in alive.rows] == [("vector", "main"), ("vector", "controls")]
    assert "Screening" not in render(told, runs[1:], plugin_version="0.1.0", missing=[])


def test_ours_stand_beside_the_published_figures_each_labelled() -> None:
    rows = named(tables([run("main", "full-context,mem0,vector")]), "uis")
    assert rows["mem0"]["UIS"].startswith("25.0 [")
    assert rows["mem0"]["published UIS"] == "11.3 (gpt-4o)"
    assert rows["vector"]["published UIS"] == "–"
    assert rows["none"]["beside no memory"] == "–"
    assert rows["mem0"]["beside no memory"].startswith("+25.0 [+")
    assert float(rows["mem0"]["sign-flip p"]) == pytest.approx(2**-5, rel=0.02)
    # Personas differ much: the cluster bootstrap is as wide as the whole spread, and not the calibrated interval.
    assert rows["mem0"]["cluster"] not in (rows["mem0"]["UIS"], "–")
    other = named(tables([run("main", "mem0", model="anthropic/claude-sonnet-4-6")]), "uis")
    assert "51.3 to 83.0" in other["mem0"]["published UIS"]


def test_invitations_and_controls_have_tables_of_their_own() -> None:
    found = tables([run("controls", "oracle,vector,mem0+boundary", invitations=True)])
    gain = named(found, "invitations")["oracle"]
    assert gain["gain in target uptake"].startswith("+50.0 [")
    assert gain["published gain"] == "+27.0 to +41.3"
    assert named(found, "controls")["mem0+boundary"]["published UIS"] == "about the no-memory floor"
    assert named(found, "usefulness")["vector"]["shown %"].startswith("100.0 [")
    assert [t.name for t in found] == ["controls", "invitations", "usefulness"]


def test_exposure_is_told_by_flag_with_the_papers_share() -> None:
    found = tables([run("main", "mem0,vector")])
    assert named(found, "exposure")["mem0"]["published exposure %"] == "23.0"
    assert named(found, "exposure")["vector"]["exact"] == "25.0 (120)"


def test_lines_are_aligned_where_they_fit_and_stacked_where_not() -> None:
    table = Table("t", "Title", "About.", ("generator", "condition", "a", "b"), (("m", "c", "1.0", "2.0"),))
    assert text_lines(table, 80)[-1].split() == ["m", "c", "1.0", "2.0"]
    wide = replace(table, rows=(("m", "c", "1" * 60, "2" * 60),))
    told = text_lines(wide, 80)
    assert told[2] == "m under c"
    assert all(len(line) <= 80 for line in told)


def test_the_page_loads_nothing_and_text_of_others_is_no_markup() -> None:
    odd = run("main", "vector", model="<script>x</script>")
    page = render(tables([odd]), [odd], plugin_version="0.1.0", missing=["<b>m</b>"])
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page
    assert "&lt;b&gt;m" in page
    assert "default-src &#39;none&#39;" in page
    assert 'class="published-figure"' in page
    assert "src=" not in page
    assert "url(" not in page


def test_the_price_is_known_before_a_call_and_without_a_memory_library() -> None:
    def resolve(name: str) -> object:
        if name == "parrot":
            return Parrot()
        raise UsageError("unknown provider")

    planned = jobs(["parrot", "deepseek/deepseek-chat", "nobody/model"], ["a-mem"], Path("o"), "main")
    told = cost_lines(planned, PACK, resolve, lambda job: [], sample=None, seed=0)
    text = "\n".join(told)
    assert "parrot: at most" in text
    assert "nobody/model: at most" in text
    assert "unknown price" in text
    assert "its endpoint is not configured here" in text
    assert told[-1].startswith("together: 780 replies, at most $")
    assert "and what is not known" in told[-1]


def test_the_cluster_bootstrap_draws_whole_personas() -> None:
    def cell(score: float) -> tuple[Cell, ...]:
        return (Cell("f", ((score, 4),)),)

    alike = Cells(tuple(cell(0.5) for _ in range(6)))
    assert cluster_bounds(alike, 1, 0.95) == (0.5, 0.5)
    apart = Cells((*(cell(0.0) for _ in range(5)), *(cell(1.0) for _ in range(5))))
    bounds = cluster_bounds(apart, 1, 0.95)
    assert bounds == cluster_bounds(apart, 1, 0.95)
    assert bounds is not None
    # Ten fair coins: the fifth and the 95th per cent of their share are 0.2 or 0.3 and 0.7 or 0.8.
    assert 0.2 <= bounds[0] <= 0.3
    assert 0.7 <= bounds[1] <= 0.8
    assert cluster_bounds(Cells((cell(0.0)[:0],)), 1, 0.95) is None
