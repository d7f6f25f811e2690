/** Loaded into a witness before its own code (`--import`): it dies once a head is in its state, and nobody was told of it yet. */
import { ServerResponse } from 'node:http';

const { writeHead } = ServerResponse.prototype;
ServerResponse.prototype.writeHead = function (status, ...more) {
  if (this.req.url === '/add-checkpoint' && status === 200) process.kill(process.pid, 'SIGKILL');
  return writeHead.call(this, status, ...more);
};
