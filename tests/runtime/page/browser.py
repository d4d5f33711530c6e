"""A headless Chromium, driven over HTTP by its own driver; nothing to be installed from PyPI."""
import base64
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import urllib.request

CHROMIUM = shutil.which('chromium') or shutil.which('google-chrome')
DRIVER = shutil.which('chromedriver')
AVAILABLE = bool(CHROMIUM and DRIVER) and not os.environ.get('CHAINWRIGHT_NO_BROWSER')


class Browser:
    """One window; ``run`` evaluates JavaScript in the page."""

    def __init__(self, port):
        self._url = f'http://127.0.0.1:{port}'
        options = {
            'binary': CHROMIUM,
            'args': ['--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
                     '--window-size=1400,1200', '--disable-dev-shm-usage', '--no-first-run',
                     '--disable-background-networking', '--disable-component-update',
                     '--disable-quic', '--disable-sync']}
        made = self._send('POST', '/session', {
            'capabilities': {'alwaysMatch': {
                'browserName': 'chrome', 'goog:chromeOptions': options,
                'goog:loggingPrefs': {'browser': 'ALL'}}}})
        self._url += f'/session/{made["sessionId"]}'

    def _send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._url + path, data, {'Content-Type': 'application/json'}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)['value']

    def open(self, path):
        """Show a file."""
        self._send('POST', '/url', {'url': pathlib.Path(path).resolve().as_uri()})

    def run(self, script, *args):
        """The value of a function's body of JavaScript."""
        return self._send('POST', '/execute/sync', {'script': script, 'args': list(args)})

    def click(self, query):
        """Click the first element of a CSS query, as a mouse does."""
        element = self._send(
            'POST', '/element', {'using': 'css selector', 'value': query})
        self._send('POST', f'/element/{next(iter(element.values()))}/click', {})

    def errors(self):
        """What the console has complained about."""
        logs = self._send('POST', '/se/log', {'type': 'browser'})
        return [entry['message'] for entry in logs if entry['level'] == 'SEVERE']

    def look(self, width, height, scheme):
        """Have the next pages shown in this size, and in the colours 'light' or 'dark'."""
        self._devtools('Emulation.setDeviceMetricsOverride', width=width, height=height,
                       deviceScaleFactor=1, mobile=False)
        self._devtools('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': scheme}])

    def _devtools(self, command, **settings):
        self._send('POST', '/goog/cdp/execute', {'cmd': command, 'params': settings})

    def screenshot(self, path):
        """Write a picture of the window."""
        pathlib.Path(path).write_bytes(base64.b64decode(self._send('GET', '/screenshot')))

    def close(self):
        """End the window."""
        self._send('DELETE', '')


@contextlib.contextmanager
def browser():
    """A browser that is closed at the end."""
    driver = subprocess.Popen([DRIVER, '--port=0'], stdout=subprocess.PIPE, text=True)
    try:
        port = None
        for line in driver.stdout:
            if 'started successfully on port' in line:
                port = line.rstrip().rstrip('.').rpartition(' ')[2]
                break
        if port is None:
            raise OSError(f'{DRIVER} has ended')
        window = Browser(port)
        try:
            yield window
        finally:
            window.close()
    finally:
        driver.terminate()
        driver.wait(timeout=20)
        driver.stdout.close()
