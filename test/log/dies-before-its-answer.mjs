/** Loaded into a witness before its own code (`--import`): it dies once a head is in its state, and nobody was told of it yet. */
import { ServerResponse } from 'node:http';

const send = Reflect.get(ServerResponse.prototype, 'writeHead');
ServerResponse.prototype.writeHead = function (status, ...more) {
  if (this.req.url === '/add-checkpoint' && status === 200) process.kill(process.pid, 'SIGKILL');
  return Reflect.apply(send, this, [status, ...more]);
};
