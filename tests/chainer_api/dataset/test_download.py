"""The cache of data sets: nothing of this leaves the machine."""
import hashlib
import http.server
import multiprocessing
import os
import re
import threading
import urllib.error

import pytest

from chainer import dataset
from chainer.dataset import download

CONTENT = bytes(range(256)) * 2000
CHECKSUM = 'sha256:' + hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT, ranges of it, and /cut, which stops in the middle."""

    def do_GET(self):
        self.server.requests.append((self.path, self.headers.get('Range')))
        if self.path == '/missing':
            self.send_error(404)
            return
        start = 0
        requested = self.headers.get('Range')
        if requested and self.path != '/no-ranges':
            start = int(requested[len('bytes='):-1])
            if start >= len(CONTENT):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        self.send_header('Content-Length', str(len(CONTENT) - start))
        self.end_headers()
        stop = len(CONTENT) // 2 if self.path == '/cut' else len(CONTENT)
        self.wfile.write(CONTENT[start:stop])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler) as server:
        server.requests = []
        server.url = f'http://127.0.0.1:{server.server_port}'
        thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(download, '_chosen_root', None)
    monkeypatch.setenv('CHAINER_DATASET_ROOT', str(tmp_path))
    return tmp_path


def test_root(monkeypatch, tmp_path):
    monkeypatch.setattr(download, '_chosen_root', None)
    monkeypatch.delenv('CHAINER_DATASET_ROOT', raising=False)
    monkeypatch.setenv('HOME', '/nowhere')
    assert dataset.get_dataset_root() == '/nowhere/.chainer/dataset'
    monkeypatch.setenv('CHAINER_DATASET_ROOT', '/elsewhere')
    assert dataset.get_dataset_root() == '/elsewhere'
    dataset.set_dataset_root(str(tmp_path))
    assert dataset.get_dataset_root() == str(tmp_path)
    folder = dataset.get_dataset_directory('a/b', create_directory=False)
    assert not os.path.exists(folder)
    assert dataset.get_dataset_directory('a/b') == folder == str(tmp_path / 'a' / 'b')
    assert os.path.isdir(folder)


def test_download_once(server, root):
    url = server.url + '/file'
    path = dataset.cached_download(url)
    assert path == str(root / '_dl_cache' / hashlib.md5(url.encode()).hexdigest())
    assert open(path, 'rb').read() == CONTENT
    assert dataset.cached_download(url) == path
    assert len(server.requests) == 1


def test_checksum(server, root):
    assert dataset.cached_download(server.url + '/a', CHECKSUM)
    with pytest.raises(OSError, match='does not have the checksum sha256:00'):
        dataset.cached_download(server.url + '/b', 'sha256:00')
    # Nothing but the good file and the locks is left.
    left = [name for name in os.listdir(root / '_dl_cache') if not name.endswith('.lock')]
    assert len(left) == 1


def test_mirrors_come_first(server, root):
    path = dataset.cached_download(
        'http://127.0.0.1:1/dead', CHECKSUM, [server.url + '/missing', server.url + '/good'])
    assert open(path, 'rb').read() == CONTENT
    assert [path for path, _ in server.requests] == ['/missing', '/good']


def test_continues_a_broken_download(server, root):
    url = server.url + '/cut'
    with pytest.raises(OSError, match='the connection ended after 256000 of 512000 bytes'):
        dataset.cached_download(url, CHECKSUM)
    dataset.cached_download(url, CHECKSUM, [server.url + '/rest'])
    assert server.requests[-1] == ('/rest', 'bytes=256000-')


@pytest.mark.parametrize('piece, last_path', [
    (b'wrong' * 1000, '/rest'),  # the whole does not fit together: loaded again
    (CONTENT[:1000], '/no-ranges'),  # the server starts from the beginning
    (CONTENT, '/rest'),  # there is nothing more to come
])
def test_pieces_that_were_left(server, root, piece, last_path):
    url = server.url + last_path
    folder = root / '_dl_cache'
    folder.mkdir()
    (folder / (hashlib.md5(url.encode()).hexdigest() + '.part')).write_bytes(piece)
    assert open(dataset.cached_download(url, CHECKSUM), 'rb').read() == CONTENT


def test_without_a_checksum_nothing_is_continued(server, root):
    with pytest.raises(OSError):
        dataset.cached_download(server.url + '/cut')
    dataset.cached_download(server.url + '/cut', mirrors=[server.url + '/good'])
    assert server.requests[-1] == ('/good', None)


def test_offline_error_says_where_to_put_the_file(root):
    url = 'http://127.0.0.1:1/digits.gz'
    with pytest.raises(urllib.error.URLError) as caught:
        dataset.cached_download(url, 'md5:123')
    assert isinstance(caught.value.__cause__, urllib.error.URLError)
    message = str(caught.value)
    path = str(root / '_dl_cache' / hashlib.md5(url.encode()).hexdigest())
    assert 'cannot download digits.gz' in message and url in message
    assert f'(its md5 is 123) as\n  {path}' in message


@pytest.mark.parametrize(('url', 'cause'), [
    ('nonsense', ValueError),  # what Chainer lets through from urllib
    ('file:///no/such/file', urllib.error.URLError),
])
def test_errors_are_those_of_urllib(root, url, cause):
    with pytest.raises(cause, match='cannot download') as caught:
        dataset.cached_download(url)
    assert isinstance(caught.value, download.DownloadError)
    assert isinstance(caught.value.__cause__, cause)


def test_progress_on_a_terminal(server, root, monkeypatch):
    written = []

    class Terminal:
        isatty = staticmethod(lambda: True)
        write = staticmethod(written.append)
        flush = staticmethod(lambda: None)

    clock = iter(range(1000))
    monkeypatch.setattr(download.sys, 'stderr', Terminal())
    monkeypatch.setattr(download.time, 'monotonic', lambda: float(next(clock)))
    dataset.cached_download(server.url + '/file')
    assert re.match(r'\rfile: \d\.\d of 0\.5 MiB \(\d+%\)', written[0])
    assert '(100%)' in written[-2] and written[-1] == '\n'


def test_cache_or_load_file(tmp_path):
    path = str(tmp_path / 'sub' / 'file.txt')

    def create(temporary):
        assert not os.path.exists(temporary)
        with open(temporary, 'w') as file:
            file.write('x')
        return 'created'

    def load(path):
        return 'loaded ' + open(path).read()

    assert dataset.cache_or_load_file(path, create, load) == 'created'
    assert dataset.cache_or_load_file(path, create, load) == 'loaded x'
    assert os.listdir(tmp_path / 'sub') == ['file.txt']


def test_a_failing_creator_leaves_nothing(tmp_path):
    def create(temporary):
        open(temporary, 'w').close()
        raise KeyError('no')

    with pytest.raises(KeyError):
        dataset.cache_or_load_file(str(tmp_path / 'file'), create, None)
    assert os.listdir(tmp_path) == []


def make_slowly(path, barrier, results):
    def create(temporary):
        with open(temporary, 'w') as file:
            file.write('whole')
        barrier.wait()
        return 'created'

    results.put(dataset.cache_or_load_file(path, create, lambda p: open(p).read()))


def test_cache_or_load_file_by_several_processes(tmp_path):
    context = multiprocessing.get_context('fork')
    barrier, results = context.Barrier(3), context.Queue()
    path = str(tmp_path / 'file')
    processes = [
        context.Process(target=make_slowly, args=(path, barrier, results)) for _ in range(3)]
    for process in processes:
        process.start()
    got = sorted(results.get(timeout=20) for _ in processes)
    for process in processes:
        process.join()
    assert set(got) <= {'created', 'whole'} and 'created' in got
    assert os.listdir(tmp_path) == ['file'] and open(path).read() == 'whole'
