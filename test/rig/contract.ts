/**
 * The contract as a client reads it: the OpenAPI document that a service serves. The document says what a client may send,
 * and which answers an operation may give.
 */
import Schema from 'typebox/schema';
import type { Answer } from './rig.ts';

/** A JSON Schema from the document. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'header' | 'path';
  readonly schema: JsonSchema;
}

interface HeaderNode {
  readonly required: boolean;
  readonly schema: JsonSchema;
}

interface ResponseNode {
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

interface OperationNode {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly 'application/json'?: { readonly schema: JsonSchema } } };
  readonly responses: Readonly<Record<string, ResponseNode | { readonly $ref: string }>>;
  readonly 'x-error-codes': readonly string[];
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationNode>>>>;
  readonly components: {
    readonly headers: Readonly<Record<string, HeaderNode>>;
    readonly responses: Readonly<Record<string, ResponseNode>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
}

/** One operation, and what may be sent to it. */
export interface ContractOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** The schema of a JSON body. */
  readonly body: JsonSchema | null;
  /** The codes with which the operation may refuse. */
  readonly errorCodes: readonly string[];
}

/** Headers of HTTP and WebSocket themselves. No OpenAPI document lists them. OpenAPI 3.1 § Response Object. */
const OF_HTTP: ReadonlySet<string> = new Set([
  ...['connection', 'content-type', 'date', 'keep-alive', 'transfer-encoding'],
  ...['sec-websocket-accept', 'sec-websocket-protocol', 'upgrade'],
]);

function lastOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

export class Contract {
  readonly #document: Document;
  readonly #checks = new Map<string, (value: unknown) => boolean>();
  readonly operations: readonly ContractOperation[];

  constructor(text: string) {
    this.#document = JSON.parse(text) as Document;
    this.operations = Object.entries(this.#document.paths).flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([method]) => method !== 'parameters')
        .map(([method, { operationId, parameters, requestBody, 'x-error-codes': errorCodes }]) => ({
          id: operationId,
          method: method.toUpperCase(),
          path,
          parameters: parameters ?? [],
          body: requestBody?.content['application/json']?.schema ?? null,
          errorCodes,
        })),
    );
  }

  /** Resolves a reference to its schema. Returns any other schema unchanged. */
  resolved(schema: JsonSchema): JsonSchema {
    const name = schema.$ref?.replace('#/components/schemas/', '');
    return name === undefined ? schema : (this.#document.components.schemas[name] as JsonSchema);
  }

  /** The path (such as `/signer/key_id`) of the first member of `value` that the schema does not name; null if none. */
  unlistedIn(schema: JsonSchema, value: unknown, path = ''): string | null {
    const { anyOf, allOf, properties, items } = this.resolved(schema);
    if (anyOf !== undefined) {
      const found = anyOf.filter((one) => this.fits(one, value)).map((one) => this.unlistedIn(one, value, path));
      return found.includes(null) ? null : (found[0] ?? null);
    }
    // The first schema names all members. The other schemas only restrict the first.
    if (allOf !== undefined) return this.unlistedIn(allOf[0] ?? {}, value, path);
    if (Array.isArray(value)) {
      const found = value.map((item, index) => this.unlistedIn(items ?? {}, item, `${path}/${index}`));
      return found.find((one) => one !== null) ?? null;
    }
    if (properties === undefined || value === null) return null;
    for (const [name, member] of Object.entries(value as object)) {
      const known = properties[name];
      const found = known === undefined ? `${path}/${name}` : this.unlistedIn(known, member, `${path}/${name}`);
      if (found !== null) return found;
    }
    return null;
  }

  /** Whether a value fits a schema in the document. */
  fits(schema: JsonSchema, value: unknown): boolean {
    const key = JSON.stringify(schema);
    let check = this.#checks.get(key);
    if (check === undefined) {
      const validator = Schema.Compile({ allOf: [schema], components: this.#document.components });
      check = (candidate) => validator.Check(candidate);
      this.#checks.set(key, check);
    }
    return check(value);
  }

  /** How an operation's answer differs from the document, or that the service failed; null if neither. */
  problemWith(operation: ContractOperation, answer: Answer): string | null {
    return answer.status === 500 ? 'it failed' : this.mismatchOf(operation, answer);
  }

  /** How an answer differs from the document, also if the service failed; null if it does not differ. */
  mismatchOf(operation: ContractOperation, answer: Answer): string | null {
    return this.headMismatchOf(operation, answer) ?? this.#bodyProblem(this.#responseTo(operation, answer), answer);
  }

  /** Like `mismatchOf`, but only for the status, the headers and the media type. */
  headMismatchOf(operation: ContractOperation, answer: Answer): string | null {
    const response = this.#responseTo(operation, answer);
    if (response === null) return `the status ${answer.status} is not in the contract`;
    const mediaType = answer.headers.get('content-type');
    const isListed = mediaType === null ? response.content === undefined : response.content?.[mediaType] !== undefined;
    if (!isListed) return `the media type ${mediaType} is not in the contract`;
    return this.#headerProblem(response, answer.headers);
  }

  /** The statuses of all answers, including refusals, that the document lists for an operation. */
  statusesOf({ method, path }: ContractOperation): number[] {
    return Object.keys(this.#document.paths[path]?.[method.toLowerCase()]?.responses ?? {}).map(Number);
  }

  /** The media types that an answer may have, with their schemas. */
  contentOf(id: string, status: number): Readonly<Record<string, unknown>> {
    const operation = this.operations.find((candidate) => candidate.id === id);
    return (operation && this.#responseTo(operation, { status })?.content) ?? {};
  }

  #responseTo({ method, path }: ContractOperation, { status }: Pick<Answer, 'status'>): ResponseNode | null {
    const node = this.#document.paths[path]?.[method.toLowerCase()]?.responses[status];
    if (node === undefined) return null;
    return '$ref' in node ? (this.#document.components.responses[lastOf(node.$ref)] as ResponseNode) : node;
  }

  #headerProblem(response: ResponseNode, headers: Headers): string | null {
    for (const [name, { $ref }] of Object.entries(response.headers ?? {})) {
      const { required, schema } = this.#document.components.headers[lastOf($ref)] as HeaderNode;
      const value = headers.get(name);
      if (value === null && required) return `the header ${name} is missing`;
      if (value !== null && !this.fits(schema, schema.type === 'integer' ? Number(value) : value)) {
        return `the header ${name} is ${JSON.stringify(value)}`;
      }
    }
    const unlisted = [...headers.keys()].find((name) => !OF_HTTP.has(name) && !this.#lists(response, name));
    return unlisted === undefined ? null : `the header ${unlisted} is not in the contract`;
  }

  #lists({ headers = {} }: ResponseNode, name: string): boolean {
    return Object.keys(headers).some((listed) => listed.toLowerCase() === name);
  }

  #bodyProblem(response: ResponseNode | null, { headers, text }: Answer): string | null {
    const schema = response?.content?.[headers.get('content-type') ?? '']?.schema;
    if (schema === undefined) return text === '' ? null : 'it has a body, and none was promised';
    if (!/[/+]json$/.test(headers.get('content-type') ?? '')) return null;
    const body = JSON.parse(text) as { readonly error?: { readonly request_id: string } };
    if (!this.fits(schema, body)) return `the body does not fit: ${text.slice(0, 500)}`;
    const unlisted = this.unlistedIn(schema, body);
    if (unlisted !== null) return `the member ${unlisted} is not in the contract`;
    const named = body.error?.request_id;
    return named === undefined || named === headers.get('x-request-id') ? null : 'the request has two ids';
  }
}
