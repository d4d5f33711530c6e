"""Names the packages that tests can do without, a line each."""

import sys
import tomllib

with open("pyproject.toml", "rb") as f:
    extras = tomllib.load(f)["project"]["optional-dependencies"]
for extra in sorted(extras.keys() - {"all", "docs", "tools"}):
    sys.stdout.writelines([f"{p}\n" for p in extras[extra] if not p.startswith("chainwright[")])
