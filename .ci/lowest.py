"""Print the lowest version of every dependency that pyproject.toml allows, as requirements for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
for requirement in project["dependencies"]:
    found = re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement)
    assert found, f"expected NAME>=VERSION, found {requirement!r}"
    print("==".join(found.groups()))
    if found[1] == "jax":  # pip takes the newest jaxlib that a release of jax allows: they go together
        print(f"jaxlib=={found[2]}")
