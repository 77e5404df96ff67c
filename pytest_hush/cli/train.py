"""``hush judge train``: the coefficients of the embedded judge, from the tuning half of a labelled set."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_hush.cli.common import print_line


@click.command()
@click.argument("labels")
@click.option("--out", type=click.Path(path_type=Path), help="Where the weights go. [default: the judge's own file]")
@click.option("--pack", "packs", multiple=True, help="Folder of a pack that is not bundled; repeatable.")
def train(labels: str, out: Path | None, packs: tuple[str, ...]) -> None:
    """Fit the embedded judge's coefficients on the tuning half of LABELS, and print how they do on left-out personas.

    The held-out half is not opened: measure on it with `hush judge calibrate LABELS`. The same labels give the same
    file. For the developers of the judge: new coefficients are a new version of it, and calibrations of the old one no
    longer fit.
    """
    import pytest_hush.judges
    from pytest_hush.cli.labelled import pack_loader
    from pytest_hush.embed import default_embedder
    from pytest_hush.judges.labelled_views import labelled_views, no_memory_views
    from pytest_hush.judges.labels import tuning
    from pytest_hush.judges.training import Example, train
    from pytest_hush.judges.weights import FILE

    found = tuning(labels)
    load = pack_loader(packs)
    examples = []
    for x in labelled_views(found, load):
        score = x.labelled.consensus
        v = score.target_uptake if score.v is None else score.v
        examples.append(Example(x.view, v, " … ".join(x.labelled.evidence[:1]), score.helpfulness, x.cluster))
    examples += [Example(view, 0.0, "", None, cluster, silent=True) for view, cluster in no_memory_views(found, load)]
    readers = ", ".join(sorted({x.kind for x in found.items}))
    about = {"labels": f"{found.name}@{found.version}+{found.hash[:12]}", "half": "tuning", "readers": readers}
    text, figures = train(examples, default_embedder(), about)
    path = out or Path(pytest_hush.judges.__file__).with_name(FILE)
    path.write_text(text, encoding="utf-8", newline="\n")
    print_line(
        f"personas left out one at a time: alpha {figures['alpha']:.3f}, mean error of v {figures['mae']:.3f}; "
        f"UIS of the replies without history {100 * figures['silent']:.2f}"
    )
    print_line(f"wrote {path}")
