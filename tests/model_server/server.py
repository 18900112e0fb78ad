"""A model's endpoint for tests: speaks the OpenAI and the Anthropic form, and plays faults on demand.

usage: server.py PORT_FILE [--cassette FILE] [--tls FOLDER] [--key KEY]

The first part of the path names the behaviour: http://127.0.0.1:PORT/ok/v1/chat/completions. `ok` answers; `plan` plays one fault
at the first call of each prompt and answers the second; every other name is a fault of FAULTS. `refuse-NAME` refuses a parameter.
With --cassette a prompt is answered from recorded answers, else by an echo of its last 60 characters.
The port is written to PORT_FILE once the server listens. With --key, calls without it get status 401. The server ends when its
standard input does.
"""
import argparse
import http.server
import json
import pathlib
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

PLAN = ['429', '500', 'half', 'html', 'reset', 'empty', '503', 'stream-error']
lock = threading.Lock()
seen = {}


def events(handler, anthropic, text, reason='stop', pieces=7, thinking=''):
    """The answer as server-sent events, cut into pieces at odd places."""
    step = max(1, len(text) // pieces)
    parts = [text[i:i + step] for i in range(0, len(text), step)]
    if anthropic:
        stop = {'stop': 'end_turn', 'length': 'max_tokens'}[reason]
        yield {'type': 'message_start', 'message': {'model': 'test-model', 'content': [], 'usage': {'input_tokens': 11, 'output_tokens': 1}}}
        if thinking:
            yield {'type': 'content_block_delta', 'delta': {'type': 'thinking_delta', 'thinking': thinking}}
        for part in parts:
            yield {'type': 'content_block_delta', 'delta': {'type': 'text_delta', 'text': part}}
        yield {'type': 'message_delta', 'delta': {'stop_reason': stop}, 'usage': {'output_tokens': 22}}
        yield {'type': 'message_stop'}
        return
    if thinking:
        yield {'model': 'test-model', 'choices': [{'delta': {'reasoning_content': thinking}}]}
    for part in parts:
        yield {'model': 'test-model', 'choices': [{'delta': {'content': part}, 'finish_reason': None}]}
    yield {'model': 'test-model', 'choices': [{'delta': {}, 'finish_reason': reason}]}
    yield {'model': 'test-model', 'choices': [], 'usage': {'prompt_tokens': 11, 'completion_tokens': 22}}


def whole(anthropic, text, reason='stop', thinking=''):
    if anthropic:
        stop = {'stop': 'end_turn', 'length': 'max_tokens'}[reason]
        blocks = [{'type': 'thinking', 'thinking': thinking}] if thinking else []
        return {'type': 'message', 'model': 'test-model', 'content': [*blocks, {'type': 'text', 'text': text}], 'stop_reason': stop,
                'usage': {'input_tokens': 11, 'output_tokens': 22}}
    return {'model': 'test-model', 'choices': [{'message': {'content': text, 'reasoning_content': thinking}, 'finish_reason': reason}],
            'usage': {'prompt_tokens': 11, 'completion_tokens': 22}}


class Handler(http.server.BaseHTTPRequestHandler):
    answers, key = {}, ''

    def log_message(self, format, *args):
        pass

    def send(self, status, body, kind='application/json', **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace('_', '-'), value)
        self.end_headers()
        self.wfile.write(data)

    def fail(self, status, message, **headers):
        self.send(status, {'error': {'message': message, 'type': 'test'}}, **headers)

    def answer(self, text, reason='stop', thinking='', stop_after=None, error=False):
        if not self.asked.get('stream'):
            self.send(200, whole(self.anthropic, text, reason, thinking))
            return
        self.send_response(200)
        self.send_header('Content-Type', 'text/event-stream')
        self.end_headers()
        for i, event in enumerate(events(self, self.anthropic, text, reason, thinking=thinking)):
            if stop_after is not None and i >= stop_after:
                break
            self.wfile.write(b': comment\nevent: x\ndata: ' + json.dumps(event).encode() + b'\n\n')
        if error:
            said = {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'overloaded'}}
            self.wfile.write(b'data: ' + json.dumps(said).encode() + b'\n\n')
        elif stop_after is None and not self.anthropic:
            self.wfile.write(b'data: [DONE]\n\n')
        self.close_connection = True

    def do_GET(self):
        with lock:
            self.send(200, {'prompts_faulted': len(seen)})

    def do_POST(self):
        self.body = self.rfile.read(int(self.headers['Content-Length']))
        self.asked = json.loads(self.body)
        parts = urllib.parse.urlsplit(self.path).path.strip('/').split('/')  # a proxy is sent the whole address
        self.anthropic = parts[-1] == 'messages'
        sent = self.headers.get('x-api-key' if self.anthropic else 'authorization', '').removeprefix('Bearer ')
        if self.key and sent != self.key:
            self.fail(401, f'wrong key {sent}')
            return
        prompt = self.asked['messages'][0]['content']
        text = self.answers.get(prompt, 'echo: ' + prompt[-60:])
        name = parts[0]
        if name == 'plan':
            with lock:
                count = seen[prompt] = seen.get(prompt, 0) + 1
                name = PLAN[len(seen) % len(PLAN)] if count == 1 else 'ok'
        self.play(name, text, sent)

    def play(self, name, text, sent):
        if name.startswith('refuse-'):
            refused = name.removeprefix('refuse-')
            if refused in self.asked:
                self.fail(400, f"Unsupported parameter: '{refused}' is not supported with this model.")
            else:
                self.answer(text + ' with ' + ' '.join(sorted(self.asked)))
        elif name == 'ok':
            self.answer(text)
        elif name == 'thinking':
            self.answer(text, thinking='secret thoughts')
        elif name == 'whole':  # an endpoint that does not stream
            self.asked.pop('stream', None)
            self.answer(text)
        elif name == 'cut':
            self.answer(text, reason='length')
        elif name == 'empty':
            self.answer('')
        elif name == 'half':
            self.answer(text, stop_after=3)
        elif name == 'stream-error':
            self.answer(text, stop_after=3, error=True)
        elif name == 'html':
            self.send(200, b'<html>a proxy says hello</html>', 'text/html')
        elif name == 'deep':
            self.send(200, b'{"choices":' + b'[' * 100000 + b']' * 100000 + b'}')
        elif name == 'other-json':
            self.send(200, {'choices': {'x': 1}})
        elif name == 'huge':
            self.send(200, b'data: ' + b'x' * (20 << 20))
        elif name == 'redirect':
            self.send(307, b'', Location='http://127.0.0.1:1/elsewhere')
        elif name == 'overflow':
            self.fail(400, "This model's maximum context length is 8192 tokens.")
        elif name == 'reset':
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"cho')
            self.close_connection = True
        elif name == 'stall':
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'data: {}\n\n')
            self.wfile.flush()
            time.sleep(5)
            self.close_connection = True
        elif name == 'tell-key':
            self.fail(400, 'x' * 280 + f'your key {sent} is odd')
        elif name == 'answer-key':
            self.answer(f'your key is {sent}')
        elif name == '429':
            self.fail(429, 'slow down', Retry_After='0')
        elif name == '429-long':
            self.fail(429, 'slow down', Retry_After='7')
        else:
            self.fail(int(name), 'told to fail')


def recorded(path):
    lines = pathlib.Path(path).read_text(encoding='utf-8').splitlines()
    return {line['prompt']: line['text'] for line in map(json.loads, lines)}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that hangs up in the middle is part of the play."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('port_file')
    parser.add_argument('--cassette')
    parser.add_argument('--tls')
    parser.add_argument('--key', default='')
    options = parser.parse_args()
    Handler.key = options.key
    if options.cassette:
        Handler.answers = recorded(options.cassette)
    server = Server(('127.0.0.1', 0), Handler)
    if options.tls:
        folder = pathlib.Path(options.tls)
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1', '-addext',
                        'subjectAltName=IP:127.0.0.1', '-keyout', folder / 'key.pem', '-out', folder / 'cert.pem'],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / 'cert.pem', folder / 'key.pem')
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    fresh = pathlib.Path(options.port_file + '.new')
    fresh.write_text(str(server.server_address[1]))
    fresh.rename(options.port_file)
    sys.stdin.read()


main()
