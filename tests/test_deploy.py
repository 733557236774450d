"""The files in deploy/ name options, extras and files that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml
from typer.testing import CliRunner

from docgraph.cli import app

ROOT = Path(__file__).resolve().parents[1]
CONTAINER = (ROOT / "deploy/Containerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text("utf-8"))


def test_the_options_of_the_servers_exist() -> None:
    used = {*re.findall(r"--[a-z-]+", COMPOSE["services"]["server"]["command"][0])}
    used |= {*re.findall(r'"(--[a-z-]+)"', CONTAINER)}
    assert used == {"--no-browser", "--host", "--port", "--api-key-file"}
    text = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    for option in (*used, "DOCGRAPH_DATABASE"):
        assert option in text, option


def test_the_image_installs_extras_that_exist_from_files_that_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    [extras] = re.findall(r"\.\[([\w,]+)\]", CONTAINER)
    assert {*extras.split(",")} <= project["optional-dependencies"].keys()
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    for line in re.findall(r"^COPY (.+) \S+$", CONTAINER, re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists(), name
            assert f"!{name}" in ignored


def test_secrets_and_mounts_are_declared() -> None:
    for service in COMPOSE["services"].values():
        assert {*service.get("secrets", ())} <= COMPOSE["secrets"].keys()
    assert (ROOT / "deploy/nginx.conf").is_file()
    assert COMPOSE["services"]["server"]["build"]["dockerfile"] == "deploy/Containerfile"
