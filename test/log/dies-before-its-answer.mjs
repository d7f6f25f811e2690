/** Loaded into a witness before its own code (`--import`): kills the witness after it stores a head and before it answers. */
import { ServerResponse } from 'node:http';

const send = Reflect.get(ServerResponse.prototype, 'writeHead');
ServerResponse.prototype.writeHead = function (status, ...more) {
  if (this.req.url === '/add-checkpoint' && status === 200) process.kill(process.pid, 'SIGKILL');
  return Reflect.apply(send, this, [status, ...more]);
};
