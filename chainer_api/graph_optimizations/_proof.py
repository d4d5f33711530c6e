"""Calls without Python: proofs that a method does nothing but what is known, and their use.

In: calls that have followed a known way. Out: for such a way, where it can be proved, a function
that goes from guards to programs to results. What may not happen: a call that goes without its
Python where that would have done something else. So proofs are checked, too: from time to time a
call goes with its Python, and must do what the proof says.
"""

from __future__ import annotations

import logging
import math
import re
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from chainer import configuration
from chainer.variable import Variable
from chainwright.runtime import pass_on

from ._account import Meter, clock
from ._any_size import probes_for
from ._brief import Shortcut
from ._carrier import Carrier
from ._dry import Dry, NoWay
from ._dry_any_size import AnySizeDry
from ._late import Late
from ._lean import Code, Need
from ._links import links_of
from ._making import without_collection
from ._of_site import OfSite
from ._own import OwnObject
from ._residual import MISS, PLAIN, NotProvable, Residual, Sym, TooMuch, is_number
from ._tree import Application
from ._warned import Hearing
from ._ways import MANY

if TYPE_CHECKING:
    from ._site import Site

logger = logging.getLogger("chainwright")
_AFTER = 2  # calls that have gone one way until a proof is tried
_TRIES = 6  # of one way that are in vain
_PUT_OFF = 4  # times that programs which are slower go on, as a proof of their way is to come
_PROOFS = 12  # of one way that are kept: they differ in what they found, lengths for instance
_ALL = 16  # of one method, or as many as ways, where the forms of arguments tell them apart
_BRIEFLY = 3  # ways of the last calls that are tried at once, as they may take turns
_OTHER = 4  # misses for arguments of a form, until a proof is taken for one of others
_FIRST = 3  # of one way that are made before they have served
_SERVED = 4  # calls that those of a way must have served, each on average, before there are more
_MISSES = 64  # of a proof, after which it goes if it takes more time than it saves
_SHARE = 8  # where time does not matter: if it has missed so many times as it was used
_OF_LATE = 0.02  # the weight of its last call in that
_LEAN, _LEAN_AT_ONCE = 32, 3  # uses until programs for calls without Python are thought of
_IN_VAIN = 256  # uses that have not paid for anything else
_SHORT, _SHORT_AT_ONCE = 64, 5  # uses until a way without most guards is looked for
_WAITED = 6  # calls that have programs for their sizes, until others take the place of a proof
_NO_FORM = object()  # of calls that are not read; None is that of any
_LOST = 8  # calls in a row that are read in vain, as they go other ways


class Proof:
    """What one way of a method's calls does, where certain things are as they are."""

    def __init__(self, dry: Dry, result: Any, settings: Any) -> None:
        self.settings, self.app = settings, dry.app
        self.plans = [(ran.app, ran.first, ran.plan) for ran in dry.ran]
        #: Attributes that are set: of which of the objects that ``holds`` gives, name and value.
        self.sets: list[tuple[int, str, Any]] = []
        #: What containers get: which object, the key (None for a list, at its end), and the value.
        self.puts: list[tuple[int, Any, Any]] = []
        found, late = dry.decisions()
        #: Slots of what functions read that was there before the call.
        self.leaf_slots = [sym.slot for sym in dry.leaves if dry.residual.was_there(sym)]
        self.holds, self.replay = _compiled(dry, found, self.sets, self.puts)
        self._code: Code | None = dry.code
        self._lines, self._names = dry.code.lines, dry.residual.names
        self._before: Any = None  # programs and code, before there were fewer of them
        self.shortcut = Shortcut(self._lines, self._names, self.holds, tuple(self.plans))
        self.expected = _described(result)
        self.meter = Meter()
        #: How many functions come before guards that ``holds`` leaves out, if there are any.
        self.decided = late[0].depth if late else None
        #: Whether such guards can fail where the same functions are applied.
        self.by_values = not all([guard.of_form for guard in late])
        #: Whether arrays of the outside are written before all is known, and put back then.
        self.undoes = dry.undoes
        self.uses = self.misses = 0
        self.uncounted = 0  # calls like the last one that the account has not looked at
        #: Seconds that a call saves which this proof is tried for, on average of late; and how many
        #: uses that takes in.
        self.gain, self._weighed = 0.0, 0
        at_once = configuration.peek("static_budget") is None
        self.shortcut.wanted_at(_SHORT_AT_ONCE if at_once else _SHORT)
        #: The use after which fewer programs are thought of.
        self.lean_at: float = _LEAN_AT_ONCE if at_once else _LEAN
        if dry.any_size:  # arrays of other sizes are other arrays
            self.shortcut.wanted_at(math.inf)
        #: By the forms of arguments: misses, as long as no call had one that it is for.
        self.forms: dict[int, float] = {}
        self.late = Late(dry.app, settings, dry.undoes)  # what comes after its calls
        self.form: int | None = None  # of the last call that it was for

    def becomes_lean(self, site: Site, else_rests: bool) -> None:
        """Have fewer programs, now or later, if that is possible."""
        code, self.lean_at = self._code, math.inf
        if code is None:  # another thread has been here
            return
        needs = code.needs()
        functions = sum([len(need.apps) for need in needs])
        fewer = sum([need.fewer for need in needs])
        probes = 0 if self.app.sizes is None else probes_for(len(self.app.sizes.all))
        if needs and (wait := site.account.wait_for_lean(
                functions, fewer, self.uses, else_rests, probes)):
            self.lean_at = self.uses + wait
            return
        self._code = None
        plans = site.compile_lean(needs, self.plans[0][2].names) if needs else None
        if plans is not None:
            self._goes_on_with(code, needs, plans)

    def _goes_on_with(self, code: Code, needs: list[Need], plans: list[Any]) -> None:
        """Run other programs from now on."""
        r = Residual()
        r.lines = code.written_with(needs, plans)
        r.names = {**self._names, **{f"lean{k}": plan for k, plan in enumerate(plans)}}
        replay = r.function("chain, args, kw, carrier")
        gone = [ran for need in needs for ran in need.ran]
        found = [(ran.app, ran.first, ran.plan) for ran in code.ran if ran not in gone]
        found += [(need.app, -need.first, plan) for need, plan in zip(needs, plans, strict=True)]
        shortcut, at = Shortcut(r.lines, r.names, self.holds, tuple(found)), self.shortcut.at
        later = max(at, self.uses + 1) if at < math.inf else self.uses + _SHORT
        shortcut.wanted_at(later if self.app.sizes is None else math.inf)
        self._before = self.plans, self.replay, code
        self.plans, self.replay, self.shortcut = found, replay, shortcut

    def goes_back(self) -> bool:
        """Run the programs again that are in more pieces, if others are not there any more.

        What callers do with results has shown that they have to be.
        """
        if self._before is None:
            return False
        (self.plans, self.replay, self._code), self._before = self._before, None
        self.lean_at = self.uses + 1  # there may be some that are fewer, and not as few
        self.shortcut = Shortcut(self._lines, self._names, self.holds, tuple(self.plans))
        self.shortcut.wanted_at(self.uses + _SHORT if self.app.sizes is None else math.inf)
        return self.ready()

    def ready(self) -> bool:
        """Whether the programs are still there."""
        for app, first, plan in self.plans:
            if app.plans.get(first) is not plan or not plan.ready():
                return False
        return True

    def agrees_until(self, app: Application) -> bool:
        """Whether a call has done the same as far as could be known before it."""
        if self.decided is None:
            return False
        path, own = app.path(1)[: self.decided], self.app.path(1)[: self.decided]
        return path == own or _are_alike(path, own, sizes=_has_any_size(app, self.app))

    def served(self, seconds: float) -> None:
        """A call took ``seconds`` without its Python."""
        self.uses += 1
        self._weigh_uses(seconds)

    def _weigh_uses(self, seconds: float) -> None:
        """Take uses into the average that it does not know of: those that went briefly, too."""
        calls, self._weighed = self.uses - self._weighed, self.uses
        if with_python := self.app.meter.program:
            # Both are the least that was seen of late: other work of the machine does not count.
            saved = with_python - (self.meter.program or seconds)
            self.gain += (1.0 - (1.0 - _OF_LATE) ** calls) * (saved - self.gain)

    def missed(self, form: int | None, seconds: float) -> None:
        """It was no proof of a call; to find that out took ``seconds``."""
        if form is None or self.app.sizes is not None or self.forms.get(form, 0) == -math.inf:
            self.misses += 1
            self._weigh_uses(self.app.meter.program)
            lost = min(seconds, self.app.meter.program or seconds)
            self.gain -= _OF_LATE * (lost + self.gain)
        elif len(self.forms) < 4 * MANY:
            self.forms[form] = self.forms.get(form, 0) + 1

    def loses(self) -> bool:
        """Whether it is tried for other calls so often that it does not pay."""
        if self.misses <= _MISSES:
            return False
        if configuration.peek("static_budget") is None:
            return self.misses > _SHARE * self.uses
        return self.gain < 0.0

    def is_due(self) -> bool:
        """Whether the next call is one of those that go with Python."""
        how, n = configuration.peek("static_check"), self.uses + 1
        if how == "always":
            return True
        if n & (n - 1) and n % 1024:
            return False
        return how != "never" and n > 1 and (n == 2 or how != "first")


    def goes_briefly(self, found: tuple[Any, Any]) -> bool:
        """Whether the next call goes the brief way that was found, as far as can be told now."""
        n, shortcut = self.uses + 1, self.shortcut
        if not (n & (n - 1) and n % 1024) or n >= self.lean_at:  # a check may be due
            return False
        if configuration.peek("static_check") == "always" or not shortcut.same(found[0]):
            return False
        return not any([piece.dropped for piece in shortcut.pieces])


class Failed(NamedTuple):
    """A call that goes with its Python since the programs of a proof have failed."""

    proof: Proof
    error: str


class Due:
    """A call that goes with its Python, to be compared with what a proof says of it."""

    def __init__(self, proof: Proof, objects: Any, leaves: Any, chain: Any) -> None:
        self.proof, self._leaves = proof, leaves
        self._links = [(link, dict(vars(link))) for _, link in links_of(chain)]
        self._objects = {id(obj): obj for obj in objects if obj is not None}
        self._sets = {(id(objects[k]), name): what for k, name, what in proof.sets}
        self._containers = objects
        self._lengths = [len(obj) if type(obj) is list else 0 for obj in objects]
        #: Names that are set on objects which are known only in the middle of a call.
        self._open = {name for k, name, _ in proof.sets if objects[k] is None}

    def other_leaf(self, values: dict[int, Any]) -> str | None:
        """Whether functions were applied to something else than the proof says."""
        for slot, leaf in zip(self.proof.leaf_slots, self._leaves, strict=True):
            found = values.get(slot)
            if leaf is not None and found is not None and found is not leaf:
                name = getattr(leaf, "name", None)
                return f"its functions were not applied to {name or 'the same arrays'}"
        return None

    def difference(self, values: dict[int, Any]) -> str | None:
        """What the call has set otherwise, or has set besides."""
        for (owner, name), what in self._sets.items():
            obj = self._objects.get(owner)
            if obj is not None and not _matches(vars(obj).get(name, self), what, values):
                return f"it set {name} to something else"
        for link, before in self._links:
            for name, value in vars(link).items():
                promised = (id(link), name) in self._sets or name in self._open
                ours = name == "schedule_manager"  # the call was the first of a link
                if before.get(name, self) is not value and not promised and not ours:
                    return f"it set {name}"
        return self._other_items(values)

    def _other_items(self, values: dict[int, Any]) -> str | None:
        """What containers have got otherwise."""
        lengths = [*self._lengths]
        for k, key, what in self.proof.puts:
            obj = self._containers[k]
            if type(obj) is list and key is None:
                found = obj[lengths[k]] if lengths[k] < len(obj) else self
                lengths[k] += 1
            elif type(obj) is dict:
                found = obj.get(key, self)
            else:
                continue
            if found is self or not _matches(found, what, values):
                return f"it put something else into a {type(obj).__name__}"
        for obj, length in zip(self._containers, lengths, strict=True):
            if type(obj) is list and len(obj) != length:
                return "it put more into a list"
        return None


class Proofs(OfSite):
    """Those of one decorated method."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._account = site.account
        self.proofs: tuple[Proof, ...] = ()
        self._waited: dict[int, int] = {}  # by forms of arguments; see _WAITED
        self._lost = 0
        #: Where the ways end that are to be proved, by the forms of the arguments of their calls;
        #: None: whatever these are.
        self._targets: dict[int | None, Application] = {}
        self._last: Application | None = None  # where one ends that could be
        self._lock = threading.Lock()
        self.why_not: dict[tuple[str, str], int] = {}

    def call(self, settings: Any, chain: Any, args: Any, kw: Any, form: int | None) -> Any:
        """The result of a call, or MISS where it needs its Python, and the proof to be checked.

        ``form`` is that of its arguments, where these differ.
        """
        result, due = self._follow(self.proofs, settings, chain, args, kw, form)
        key = self._target_of(form) if result is MISS and due is None else _NO_FORM
        if key is not _NO_FORM:
            # Only what no proof covers yet is read: ways that take turns get one each.
            made = self._try(key, settings, chain, args, kw)
            result, due = self._follow(made, settings, chain, args, kw, form)
        return result, due

    @property
    def brief(self) -> list[Proof]:
        """Those of the last calls by which some go briefly."""
        return [p for p in self.proofs[:_BRIEFLY] if p.shortcut.found is not None]

    @property
    def wanted(self) -> bool:
        """Whether calls are to be read."""
        return bool(self._targets)

    def _target_of(self, form: int | None) -> Any:
        """The key in ``_targets`` for such arguments; _NO_FORM: the call is not to be read."""
        targets = [*self._targets]  # threads that are not locked out change it
        if form is None:
            return targets[0] if targets else _NO_FORM
        return form if form in targets else None if None in targets else _NO_FORM

    def _wants(self, app: Application, form: int | None) -> bool:
        """Have calls with such arguments read, to prove the way to ``app``, if that pays by now."""
        self._targets.pop(form, None)
        if not self._account.affords_proof(app.depth, app.followed):
            return False
        if len(targets := [*self._targets]) >= MANY:
            self._targets.pop(targets[0], None)
        self._targets[form] = app
        return True

    def call_briefly(self, settings: Any, chain: Any, args: Any, kw: Any) -> Any:
        """The result of a call that is like one of the last; MISS where more is to be looked at.

        What is left of the guards tells these from others, whatever the forms of arguments.
        """
        for proof in self.proofs[:_BRIEFLY]:
            if proof.shortcut.found is not None:
                result = self._follow_briefly(proof, settings, chain, args, kw)
                if result is not MISS:
                    return result
        return MISS

    def _follow_briefly(
        self, proof: Proof, settings: Any, chain: Any, args: Any, kw: Any
    ) -> Any:
        n, shortcut, account = proof.uses + 1, proof.shortcut, self._account
        # The account looks at some calls, and takes the others for the same; it hears of threads.
        rests = n % proof.late.counted != 0 and account.is_of_this_thread()
        started = 0.0 if rests else clock()
        found = shortcut.found
        if found is None or proof.settings is not settings:
            return MISS
        if proof.undoes and account.another_may_be_inside:
            return MISS
        if not proof.goes_briefly(found):
            return MISS
        carrier = Carrier(rests)
        result = found[1](chain, args, kw, carrier)
        if result is MISS:
            return MISS
        proof.uses = n
        if carrier.late is not None or n >= proof.late.at:
            proof.late.after_call(self.site, n, carrier, found[1])
        if rests:
            account.ledger.without_python += 1
            proof.uncounted += 1
            return result
        seconds, more, proof.uncounted = clock() - started, proof.uncounted, 0
        if proof.form is not None:
            self.site.forms.came(proof.form, 1 + more)
        account.called_without_python(seconds, proof, carrier, more)
        return result

    def _follow(
        self, proofs: tuple[Proof, ...], settings: Any, chain: Any, args: Any, kw: Any,
        form: int | None,
    ) -> Any:
        started = clock()
        for proof in self._in_order(proofs, form):
            if proof.settings is not settings or proof.forms.get(form, 0) >= _OTHER:
                continue
            if proof.undoes and self._account.another_may_be_inside:
                continue  # to put back what another thread has written meanwhile would be wrong
            if not (proof.ready() or proof.goes_back()):
                self._drop(proof)
                continue
            carrier = Carrier()
            if proof.is_due():
                found = proof.holds(chain, args, kw, carrier)
                if found is False:
                    continue
                proof.uses += 1
                return MISS, Due(proof, *found, chain)
            begun = clock()
            result = _replayed(proof, chain, args, kw, carrier)
            seconds = clock() - begun
            if result is MISS:
                proof.missed(form, seconds)
                if carrier.failed and carrier.values:
                    return MISS, Failed(proof, carrier.failed)  # the functions say why
                if proof.loses():
                    self._drop(proof)
                    proof.app.proof_tries += 1  # others of this way are not likely to do better
                continue
            proof.served(seconds)
            if form is not None and proof.app.sizes is None:
                proof.forms[form] = -math.inf
                proof.form = form
            self._count(proof, started, carrier)
            if proof.uses >= proof.lean_at:
                self._make_lean(proof)
            elif proof.uses >= proof.shortcut.at:
                self._shorten(proof, chain, args, kw)
            return result, None
        return MISS, None

    def _in_order(self, proofs: tuple[Proof, ...], form: int | None) -> tuple[Proof, ...]:
        """Those that may be for a call: programs for its very sizes are faster than others."""
        of_any = [proof for proof in proofs if proof.app.sizes is not None]
        if not of_any or form is None:
            return proofs
        exact = [proof for proof in proofs if proof.app.sizes is None]
        if self.site.may_get_its_own(form):
            return (*exact,)
        if not self.site.forms.is_hot(form):
            return (*of_any, *exact)
        known = any([proof.forms.get(form) == -math.inf for proof in exact])
        waited = self._waited.get(form, 0)
        if known or waited >= _WAITED:
            return (*exact, *of_any)
        if len(self._waited) > 4 * MANY:
            self._waited.clear()
        self._waited[form] = waited + 1  # with its Python it comes to a proof of its own
        return (*exact,)

    def _count(self, proof: Proof, started: float, carrier: Carrier) -> None:
        proofs = self.proofs
        if proofs and proofs[0] is not proof and proof in proofs:
            self.proofs = (proof, *[p for p in proofs if p is not proof])
        if proof.app.sizes is not None:
            self.site.any_sizes.was_served(proof.app)
        self._account.called_without_python(clock() - started, proof, carrier)

    def _shorten(self, proof: Proof, chain: Any, args: Any, kw: Any) -> None:
        """Look for a way to go without most guards, if that pays by now."""
        if wait := self._account.wait_for_shortcut():
            # Where programs do not pay as they are, it is the way to others (see Late).
            late = proof.late
            if not (late.else_rests or proof.uses >= _IN_VAIN and late.may_help(proof.uses)):
                proof.shortcut.wanted_at(proof.uses + min(wait, _IN_VAIN))
                return
        started = clock()
        try:
            proof.shortcut.find(proof.uses, chain, args, kw, Carrier())
            proof.late.has_other_code(proof.uses)
        except Exception as e:
            pass_on(e)
            proof.shortcut.give_up()
            logger.warning("guards are not left out: %s: %s", type(e).__name__, e)
        self._account.spend("prove", started)

    def become_lean(self) -> bool:
        """Have slow calls without Python run fewer programs, if that is possible and affordable.

        Whether some do from now on.
        """
        changed = False
        for proof in self.proofs:
            if proof.lean_at < math.inf:
                before = proof.plans
                self._make_lean(proof, else_rests=True)
                changed |= proof.plans is not before
        return changed

    def are_put_off(self) -> bool:
        """Whether slow calls may soon be computed together with what comes after them."""
        changed = False
        for proof in self.proofs[:_BRIEFLY]:
            if proof.late.may_help(proof.uses):
                changed = True
                if proof.shortcut.found is None and proof.shortcut.at < math.inf:
                    proof.shortcut.wanted_at(proof.uses + 1)
        return changed

    def _make_lean(self, proof: Proof, else_rests: bool = False) -> None:
        """Have a proof run fewer programs, if that is possible; the call itself has ended well."""
        try:
            proof.becomes_lean(self.site, else_rests)
        except Exception as e:
            pass_on(e)
            logger.warning("programs are not joined: %s: %s", type(e).__name__, e)

    def forget(self) -> None:
        """Calls are others from now on."""
        self.proofs = ()
        self._targets.clear()

    def _drop(self, proof: Proof) -> None:
        self.proofs = tuple([p for p in self.proofs if p is not proof])

    # -- after a call with Python

    def after(self, run: Any, result: Any, raised: bool, due: Due | Failed | None) -> None:
        """A call has gone with its Python; ``due`` says what it was to do."""
        whole = run.noted == 0 and run.stopped is None and run.phrases is None
        if run.realized and whole:
            path = run.app.path(1)
            between = sum([app.eager is not None for app in path])
            whole = between <= run.realized <= between + sum([bool(a.writes) for a in path])
        if type(due) is Failed:
            if not (raised or run.has_raised) and run.app is due.proof.app:
                self._distrust(due.proof, f"programs raised {due.error}, and the functions did not")
            return
        if due is not None:
            self._check(due, run, result, raised)
            return
        if raised or not whole or not run.programs:
            return
        app = run.app
        if run.any_size and app not in self.site.any_sizes.ends():
            return
        app.followed += 1
        self._last = app
        if app.proof_tries < _TRIES and app.followed >= self._patience(app):
            self._wants(app, None if app.sizes is not None else run.form)

    def are_tried_in(self) -> int:
        """In how many calls the way of the last one is to be proved; 0 if it was tried before.

        Where calls do not come to it, something stands in its way.
        """
        app = self._last
        if app is None or app.proof_tries or any([proof.app is app for proof in self.proofs]):
            return 0
        app.put_off += 1
        if app.put_off > _PUT_OFF:
            return 0
        wait = self._account.wait_for_proof(app.depth, app.followed)
        if not wait:
            self._targets[None] = app
        return wait or 1

    def _patience(self, app: Application) -> float:
        """How many calls go a way with Python before a proof of it is tried (again)."""
        uses = [p.uses for p in self.proofs if p.app is app]
        if len(uses) >= _FIRST and sum(uses) < _SERVED * len(uses):
            return math.inf  # what they have found does not come back
        return _AFTER * (1 + len(uses)) * 4**app.proof_tries

    def _check(self, due: Due, run: Any, result: Any, raised: bool) -> None:
        """Whether the call has done what the proof says."""
        proof = due.proof
        if run.stopped is not None or run.phrases is not None:
            return
        if run.noted and run.app.depth < proof.app.depth:
            return
        if raised or run.has_raised:
            return  # so would it have done without its Python: that is when it goes with it
        wrong = None
        same = run.app is proof.app or _are_the_same(run.app, proof.app)
        if not same and not proof.agrees_until(run.app):
            wrong = f"it applied other functions ({_first_difference(run.app, proof.app)})"
        elif same and not proof.by_values:
            # Where nothing that the call computes decides, all of it is known beforehand. Else the
            # same functions may come with another result, where the proof would not have held.
            values = dict(run.values_by_slot())
            wrong = due.other_leaf(values)
            if wrong is None and not _matches(result, proof.expected, values):
                wrong = "its result was another one"
            elif wrong is None and not self._account.is_shared:
                wrong = due.difference(values)
        self.site.ledger.checks += 1
        if wrong is not None and not proof.ready():  # forgotten while the call ran, by a thread
            self._drop(proof)
        elif wrong is not None:
            self._distrust(
                proof, f"a call was expected to do the same as before, but {wrong}")

    def _distrust(self, proof: Proof, why: str) -> None:
        self._drop(proof)
        proof.app.proof_tries = _TRIES
        self.site.ledger.add(
            "distrusted", f"{why}; calls of this kind go with their Python from now on. "
            "Please report it",
        )

    # -- proving

    @without_collection
    def _try(
        self, form: int | None, settings: Any, chain: Any, args: Any, kw: Any
    ) -> tuple[Proof, ...]:
        """Read a call to prove the way of a form; gives the proof that comes of it, if one does."""
        if not self._lock.acquire(blocking=False):
            return ()
        started = clock()
        target = self._targets.pop(form, None)  # another thread may have taken it
        depth = target.depth if target is not None else 1
        if target is not None and target.sizes is not None:
            dry: Dry = AnySizeDry(self.site, chain, args, kw, target)
        else:
            dry = Dry(self.site, chain, args, kw)
        proof: Proof | None = None
        lost = False
        dry.interpreter.until = started + self._account.patience_with_proof(depth)
        try:
            try:
                proof = Proof(dry, dry.run(), settings)
                if proof.holds(chain, args, kw, Carrier()) is False:
                    proof = None
                    raise NotProvable("what was read is another thing when it is read again")
                lost = target is not None and proof.app is not target
                self._add(proof)
            except NoWay as e:
                lost = True
                if self._lost + 1 >= _LOST:
                    self._refused(str(e), dry.interpreter.failed_at)
            except TooMuch as e:
                self._refused(str(e), dry.interpreter.failed_at)
                if target is not None:
                    target.proof_tries = _TRIES
            except NotProvable as e:
                self._refused(str(e), dry.interpreter.failed_at)
            except RecursionError:
                self._refused("the method is too deep", "")
            except Exception as e:
                pass_on(e)
                self._refused(f"{type(e).__name__}: {e}", dry.interpreter.failed_at)
            self._after_try(form, target, lost, None if proof is None else proof.app)
        finally:
            dry.forget()
            self._lock.release()
            self._account.proved(depth, started)
        return () if proof is None else (proof,)

    def _add(self, proof: Proof) -> None:
        same = [p for p in self.proofs if p.app is proof.app]
        others = [p for p in self.proofs if p not in same[_PROOFS - 1 :]]
        most = MANY if self.site.forms.differ else _ALL
        self.proofs = (proof, *others[: most - 1])

    def _after_try(
        self, form: int | None, target: Application | None, lost: bool, proved: Application | None
    ) -> None:
        """A call has been read; ``lost`` if it went another way than the one to be proved."""
        if proved is not None:
            proved.followed = 0
        self._lost = self._lost + 1 if lost else 0
        if lost and self._lost < _LOST and target is not None:
            # Perhaps the next call goes the way that was to be proved.
            if self._wants(target, form):
                return
        self._lost = 0
        if target is not None and target is not proved:
            target.proof_tries += 1

    def _refused(self, reason: str, where: str) -> None:
        if (reason, where) not in self.why_not and len(self.why_not) < 20:
            self.why_not[reason, where] = 0
            self.site.ledger.add("with Python", reason, where)


def _replayed(proof: Proof, chain: Any, args: Any, kw: Any, carrier: Carrier) -> Any:
    """The result of a call, or MISS."""
    shortcut = proof.shortcut
    found = shortcut.found
    if found is not None:
        if shortcut.same(found[0]):
            result = found[1](chain, args, kw, carrier)
            if result is not MISS or carrier.values:
                return result  # else a guard that is still there fails: perhaps no other does
        else:
            shortcut.is_lost(proof.uses)
    return proof.replay(chain, args, kw, carrier)


_MISSES_OF = re.compile(r"return (MISS|undone\(carrier\))$")


def _compiled(dry: Dry, ahead: list[str], sets: list[Any], puts: list[Any]) -> Any:
    """Whether a proof is one for a call, with the objects that it sets attributes of; the call."""
    r = dry.residual
    whole = r.lines
    replay = r.function("chain, args, kw, carrier")
    objects: dict[str, int] = {}
    before = [*whole[: dry.begun], *ahead]
    known = {line.split()[0] for line in before if line.split()[1:2] == ["="]}
    for kind, obj, name, value in dry.effects:
        if kind == "set":
            sets[:] = [s for s in sets if s[:2] != (objects.get(obj.ref), name)]
            sets.append((objects.setdefault(obj.ref, len(objects)), name, _described(value)))
        elif kind == "append" or kind == "extend":
            k = objects.setdefault(obj.ref, len(objects))
            items = [value] if kind == "append" else value
            puts += [(k, None, _described(item)) for item in items]
        elif kind == "item" and type(obj.value) is dict:
            k = objects.setdefault(obj.ref, len(objects))
            puts[:] = [put for put in puts if put[:2] != (k, name)]
            puts.append((k, name, _described(value)))
    leaves = [sym.ref for sym in dry.leaves if dry.residual.was_there(sym)]
    found, read = [
        ", ".join([ref if ref in known else "None" for ref in refs]) for refs in (objects, leaves)]
    r.lines = [*before, f"    return [{found}], [{read}]", "except Exception:", "    return False"]
    r.lines = [_MISSES_OF.sub("return False", line) for line in r.lines]
    r.lines = [line for line in r.lines if line != "    hear(carrier)"]
    holds = r.function("chain, args, kw, carrier")
    r.lines = whole

    def quietly(*call: Any) -> Any:
        with Hearing():  # the call goes with its Python
            return holds(*call)

    return quietly, replay


def _described(value: Any) -> Any:
    """A result, as it is to be in any call."""
    kind = type(value)
    if kind is Sym:
        if isinstance(value.value, Variable) and value.slot is not None:
            return ("slot", value.slot)
        if not value.outside and (type(value.value) in PLAIN or is_number(value.value)):
            return ("number",)  # max(1, 2.5) gives an int or a float
        return ("kind", type(value.value))
    if kind is OwnObject:
        return ("object", value.cls)
    if kind is list or kind is tuple:
        return (kind, [_described(v) for v in value])
    if kind is dict:
        return (kind, {k: _described(v) for k, v in value.items()})
    if kind in PLAIN:
        return ("plain", kind, repr(value))
    return ("kind", kind)


def _matches(value: Any, expected: Any, values: dict[int, Any]) -> bool:
    what = expected[0]
    if what == "slot":
        return value is values.get(expected[1])
    if what == "kind" or what == "object":
        return type(value) is expected[1]
    if what == "number":
        return type(value) in PLAIN or is_number(value)
    if what == "plain":
        return type(value) is expected[1] and repr(value) == expected[2]
    if type(value) is not what or len(value) != len(expected[1]):
        return False
    if what is dict:
        return value.keys() == expected[1].keys() and all(
            [_matches(v, expected[1][k], values) for k, v in value.items()]
        )
    return all([_matches(v, e, values) for v, e in zip(value, expected[1], strict=True)])


def _are_the_same(one: Application, other: Application) -> bool:
    """Whether two ways are the same, but that one is of any sizes, or has a place for functions
    with any attributes.

    A call may follow either: which one it is depends on what other calls have done meanwhile.
    """
    return _are_alike(one.path(1), other.path(1), sizes=_has_any_size(one, other))


def _has_any_size(*apps: Application) -> bool:
    return any([app.sizes is not None for app in apps])


def _are_alike(path: list[Application], other: list[Application], sizes: bool) -> bool:
    """Whether functions are the same, but for lengths where these are to be ``sizes`` of any."""
    return len(path) == len(other) and all([
        a is b or a.is_like(b) and (
            sizes or a.any_attributes or b.any_attributes or a.images == b.images)
        for a, b in zip(path, other, strict=True)])


def _first_difference(a: Application, b: Application) -> str:
    for x, y in zip(a.path(1), b.path(1), strict=False):
        if x is not y:
            one, other = x.kind.__name__, y.kind.__name__
            return f"{one} of something else" if one == other else f"{one} and not {other}"
    return f"{a.depth} of them and not {b.depth}"
