"""What ``--static`` did."""


def print_summary(model):
    """Print how often each compiled method of a model was replayed.

    ``link.schedule_manager.report()`` tells more: why each program was made, and how long it took.
    """
    for link in model.links():
        manager = getattr(link, 'schedule_manager', None)
        for part in manager.report() if manager else ():
            calls = f'{part.hits} replayed, {part.eager_calls} define-by-run'
            print(f'{part.name}: {calls}' + ', a part of calls' * part.is_part)
