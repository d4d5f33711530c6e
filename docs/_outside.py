"""Pages whose text stands outside of docs/: links and pictures in them lead where they do there."""
import os
import pathlib
import re

DOCS = pathlib.Path(__file__).parent
ROOT = DOCS.parent
# By page: the file, or the folder of files, that it shows before what its own file has.
SHOWN = {
    'index': ROOT / 'README.md',
    'contributing': ROOT / 'CONTRIBUTING.md',
    'changelog': ROOT / 'CHANGELOG.md',
    'gallery': ROOT / 'examples/README.md',
    'companions': ROOT / 'companions/README.md',
    'measurements': ROOT / 'benchmarks/results',
}
PAGES = {path: DOCS / f'{page}.md' for page, path in SHOWN.items()}
PAGES |= {path.parent: PAGES[path] for path in PAGES if path.name == 'README.md'}
PAGES |= {path: PAGES[SHOWN['measurements']] for path in SHOWN['measurements'].glob('*.md')}
LINK = re.compile(r'(?<=\]\()(?![a-z]+:|#)([^)#\s]+)')


def text_of(path):
    if not path.is_dir():
        return path.read_text()
    tables = (table.read_text() for table in sorted(path.glob('*.md')))
    return '# Measurements\n\n' + '\n\n'.join(
        re.sub('^#', '##', table, flags=re.MULTILINE) for table in tables)


def moved(text, folder):
    """Text that stands in a folder, as a page of docs/ has it."""
    def leads(match):
        path = pathlib.Path(os.path.normpath(folder / match[1]))
        return os.path.relpath(PAGES.get(path, path), DOCS)

    return LINK.sub(leads, text)


def read(app, page, source):
    path = SHOWN.get(page)
    if path is not None:
        app.env.note_dependency(str(path))
        folder = path if path.is_dir() else path.parent
        source[0] = f'{moved(text_of(path), folder)}\n\n{source[0]}'
    elif '/' not in page:
        source[0] = moved(source[0], DOCS)


def setup(app):
    app.connect('source-read', read)
    return {'parallel_read_safe': True}
