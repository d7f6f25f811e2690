/** Another MCP server, whose tools programs may call. Its output may be hostile, and it may fall silent or exit at any time. */
import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport as Http,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client';
import { CommandTransport } from './command-transport.ts';

export interface ToolServerOptions {
  readonly version: string;
  /** How long the server may take for each answer, counted from its last progress report. */
  readonly millisecondsMax: number;
}

/** A tool server. The first request connects to it; a later request connects again if the connection has ended. */
export class ToolServer implements AsyncDisposable {
  /** The command or the address by which the user named the server. */
  readonly source: string;
  readonly #options: ToolServerOptions;
  #client: Promise<Client> | null = null;

  constructor(source: string, options: ToolServerOptions) {
    this.source = source;
    this.#options = options;
  }

  /** @throws Error with the reason why there are no tools */
  async tools(signal: AbortSignal): Promise<readonly Tool[]> {
    const client = await this.#connected(signal);
    // If a server has no tools, the library would write that to stdout, which carries our own protocol.
    if (client.getServerCapabilities()?.tools === undefined) throw new Error('it offers no tools');
    return (await client.listTools(undefined, { signal, timeout: this.#options.millisecondsMax })).tools;
  }

  /**
   * A tool's answer: its structured content, or else its text, or else its other content.
   * @throws Error if the tool or the server fails
   */
  async call(name: string, given: unknown, signal: AbortSignal): Promise<unknown> {
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      throw new TypeError('the arguments of this tool must have names');
    const { structuredContent, content, isError } = await this.#answer(name, given as Record<string, unknown>, signal);
    const said = saidIn(content);
    if (isError) throw new Error(typeof said === 'string' && said !== '' ? said : 'the tool failed without a reason');
    return structuredContent ?? said;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leave(this.#client);
  }

  async #answer(name: string, given: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    const connection = this.#connected();
    const options = { signal, timeout: this.#options.millisecondsMax, onprogress() {}, resetTimeoutOnProgress: true };
    try {
      return await (await connection).callTool({ name, arguments: given }, options);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      const isSlow = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
      if (!isSlow && !signal.aborted) void this.#leave(connection);
      throw new Error(`the server of this tool gave no answer: ${(error as Error).message}`, { cause: error });
    }
  }

  #connected(signal?: AbortSignal): Promise<Client> {
    if (this.#client !== null) return this.#client;
    const { version, millisecondsMax } = this.#options;
    const client = new Client({ name: 'vouchbox', version }, { jsonSchemaValidator: UNCHECKED });
    const connection = client
      .connect(transportTo(this.source), { timeout: millisecondsMax, ...(signal && { signal }) })
      .then(() => client);
    this.#client = connection;
    client.onclose = () => void this.#leave(connection);
    connection.catch(() => this.#leave(connection));
    return connection;
  }

  async #leave(connection: Promise<Client> | null): Promise<void> {
    if (this.#client === connection) this.#client = null;
    await connection?.then((client) => client.close()).catch(() => {});
  }
}

/** Keeps the library from compiling the server's schemas to code. The service checks results, in a thread with a deadline. */
const UNCHECKED = {
  getValidator: () => (value: unknown) => ({ valid: true as const, data: value as never, errorMessage: undefined }),
};

function transportTo(source: string): Transport {
  if (/^https?:\/\//.test(source)) return new Http(new URL(source), { fetch: boundedFetch });
  return new CommandTransport(source);
}

/** The most bytes of one answer over HTTP. The library has the same bound for stdio. */
const answerBytesMax = 10 * 1024 * 1024;

async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  let bytes = 0;
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > answerBytesMax) throw new Error(`it answered with more than ${answerBytesMax} bytes`);
      controller.enqueue(chunk);
    },
  });
  if (response.body === null) return response;
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(bounded), { status, statusText, headers });
}

/** An answer without structured content: a text if the content is only text, otherwise the content itself. */
function saidIn(content: CallToolResult['content']): unknown {
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return texts.length === content.length ? texts.join('\n') : content;
}
