"""What belongs to a site, and asks it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._site import Site


class OfSite:
    """Does not hold its site: parameters that proofs hold are to go with the chain, at once."""

    def __init__(self, site: Site) -> None:
        self._ref = weakref.ref(site)

    @property
    def site(self) -> Site:
        """It is there as long as anybody calls its method."""
        site = self._ref()
        assert site is not None
        return site
