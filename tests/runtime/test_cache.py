"""The cache is bounded, and forgets what was used the longest time ago."""

from chainwright.runtime import Cache, Key


def test_least_recently_used_goes_first():
    cache = Cache(limit=3, per_key=2)
    for k in "abc":
        assert cache.add(k, k.upper()) == []
    assert cache.get("a") == ["A"]
    assert cache.add("d", "D") == ["B"]
    assert cache.get("b") is None and sorted(cache) == ["A", "C", "D"]


def test_entries_under_one_key_are_bounded():
    cache = Cache(limit=10, per_key=2)
    gone = [cache.add("k", n) for n in range(4)]
    assert gone == [[], [], [0], [1]]
    assert cache.get("k") == [3, 2] and len(cache) == 2
    cache.clear()
    assert len(cache) == 0


def test_each_field_of_the_key_counts():
    base = Key("arguments", None, True, True)
    others = [
        base._replace(arguments="x"),
        base._replace(aliases=(0, 0)),
        base._replace(train=False),
        base._replace(enable_backprop=False),
    ]
    cache = Cache(limit=10, per_key=1)
    cache.add(base, 0)
    for n, other in enumerate(others, 1):
        assert cache.get(other) is None
        cache.add(other, n)
    assert [cache.get(k) for k in (base, *others)] == [[0], [1], [2], [3], [4]]
