"""httpbin on a free port of the loopback interface: prints the port, and serves until it is killed."""

from httpbin import app
from werkzeug.serving import make_server

server = make_server("127.0.0.1", 0, app, threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
