"""Runs a workflow's jobs on this machine: its scripts in bash, its expressions, and the artifacts that are handed on.

What is understood is what the project's own workflows use; anything else is an error, not a guess.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_TOKEN = re.compile(r"\s*(?:('(?:[^']|'')*')|(&&|\|\||==|!=|!|\(|\))|([A-Za-z_][\w.-]*)(\()?)")
IDLE = ("actions/checkout@", "actions/setup-python@", "actions/cache/restore@", "actions/cache/save@")


@dataclass
class Workflow:
    """One run of the workflow in `file`: `github` and `inputs` as its expressions see them, `environ` for all steps."""

    file: Path
    project: Path
    home: Path
    github: Mapping[str, Any]
    environ: Mapping[str, str]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    artifacts: Path = Path()
    results: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    log: str = ""
    summary: str = ""

    def __post_init__(self) -> None:
        self.data = yaml.safe_load(self.file.read_text(encoding="utf-8"))
        self.artifacts = self.home / "artifacts"
        declared = self.data[True]["workflow_call"]["inputs"]  # YAML 1.1 reads the key `on` as true
        assert set(self.inputs) <= set(declared)
        self.inputs = {name: about.get("default") for name, about in declared.items()} | dict(self.inputs)

    def run(self) -> None:
        for name, job in self.data["jobs"].items():
            needs = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
            known = {n: {"result": self.results[n], "outputs": self.outputs.get(n, {})} for n in needs}
            scope = {"needs": known, "failed": any(self.results[n] != "success" for n in needs)}
            if not self.true(job.get("if", "success()"), scope):
                self.results[name] = "skipped"
                continue
            matrix = job.get("strategy", {}).get("matrix", {})
            shards = json.loads(self.text(matrix["shard"], scope)) if matrix else [None]
            done = []
            for index, shard in enumerate(shards):
                place = {"matrix": {"shard": shard}, "strategy": {"job-index": index, "job-total": len(shards)}}
                done.append(self.job(f"{name}-{index}", job, scope | place))
            self.results[name] = "success" if all(done) else "failure"
            steps = {"steps": self.steps}
            self.outputs[name] = {k: self.text(v, scope | steps) for k, v in job.get("outputs", {}).items()}

    def job(self, name: str, job: Mapping[str, Any], scope: Mapping[str, Any]) -> bool:
        folder = self.home / name
        shutil.copytree(self.project, folder / "work")
        self.steps: dict[str, dict[str, dict[str, str]]] = {}
        scope = {**scope, "runner": {"temp": str(folder)}, "steps": self.steps}
        good = True
        for number, step in enumerate(job["steps"]):
            if not self.true(step.get("if", "success()"), {**scope, "failed": not good}):
                continue
            if "run" in step:
                fine = step.get("id") == "install" or self.script(folder, number, step, scope)
            else:
                fine = self.action(folder / "work", step, scope)
            good = good and (fine or step.get("continue-on-error", False))
        return good

    def script(self, folder: Path, number: int, step: Mapping[str, Any], scope: Mapping[str, Any]) -> bool:
        own = {k: self.text(v, scope) for k, v in step.get("env", {}).items()}
        files = {"GITHUB_OUTPUT": folder / f"output-{number}", "GITHUB_STEP_SUMMARY": folder / f"summary-{number}"}
        for path in files.values():
            path.touch()
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder / "work",
            env={
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(folder),
                **self.environ,
                **{k: str(v) for k, v in files.items()},
                **own,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.log += done.stdout
        self.summary += files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")
        lines = files["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines()
        if "id" in step:
            self.steps[step["id"]] = {"outputs": dict(line.split("=", 1) for line in lines)}
        return done.returncode == 0

    def action(self, work: Path, step: Mapping[str, Any], scope: Mapping[str, Any]) -> bool:
        given = {k: self.text(v, scope) for k, v in step.get("with", {}).items()}
        if step["uses"].startswith("actions/upload-artifact@"):
            return self.upload(work, given)
        if step["uses"].startswith("actions/download-artifact@"):
            return self.download(work, given)
        assert step["uses"].startswith(IDLE), step
        return True

    def upload(self, work: Path, given: Mapping[str, str]) -> bool:
        target = self.artifacts / given["name"]
        shutil.rmtree(target, ignore_errors=True)
        found = 0
        for pattern in given["path"].split():
            path = work / pattern
            for file in sorted(path.rglob("*") if path.is_dir() else path.parent.glob(path.name)):
                base = path if path.is_dir() else path.parent
                if file.is_file():
                    (target / file.relative_to(base)).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, target / file.relative_to(base))
                    found += 1
        return found > 0 or given.get("if-no-files-found", "warn") != "error"

    def download(self, work: Path, given: Mapping[str, str]) -> bool:
        names = sorted(p.name for p in self.artifacts.iterdir()) if self.artifacts.is_dir() else []
        names = [n for n in names if fnmatch.fnmatch(n, given.get("pattern") or given["name"])]
        for name in names:
            # As the action does: a single artifact is unpacked into the folder itself.
            target = work / given["path"] if len(names) == 1 else work / given["path"] / name
            shutil.copytree(self.artifacts / name, target, dirs_exist_ok=True)
        return bool(names) or "pattern" in given

    # ---- expressions --------------------------------------------------------------------------------

    def true(self, condition: str, scope: Mapping[str, Any]) -> bool:
        text = condition.strip()
        if text.startswith("${{"):
            text = text[3:-2]
        if not re.search(r"\b(always|cancelled|success|failure)\(", text):
            text = f"success() && ({text})"
        return bool(self.value(text, scope))

    def text(self, template: Any, scope: Mapping[str, Any]) -> str:
        def shown(found: re.Match[str]) -> str:
            value = self.value(found[1], scope)
            return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

        return re.sub(r"\$\{\{(.*?)\}\}", shown, str(template))

    def value(self, expression: str, scope: Mapping[str, Any]) -> Any:
        contexts = {"github": self.github, "inputs": self.inputs, "secrets": self.secrets, **scope}
        words = {"&&": " and ", "||": " or ", "!": " not "}
        parts, at, text = [], 0, expression.strip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            assert found, f"not understood: {text[at:]}"
            string, sign, name, call = found.groups()
            parts.append(string or words.get(sign, sign) or (f"_{name}(" if call else f"_at({name!r})"))
            at = found.end()

        def reached(name: str) -> Any:
            value: Any = contexts
            for step in name.split("."):
                value = value.get(step) if isinstance(value, Mapping) else None
            return value

        functions = {
            "_at": reached,
            "_always": lambda: True,
            "_cancelled": lambda: False,
            "_success": lambda: not scope.get("failed"),
            "_fromJSON": lambda value: value,
        }
        return eval("".join(parts), {"__builtins__": {}}, functions)
