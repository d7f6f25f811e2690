/**
 * The contract as a client reads it: the OpenAPI document that a service serves. It says what may be sent, and whether an
 * answer is one that was promised.
 */
import Schema from 'typebox/schema';
import type { Answer } from './rig.ts';

/** A JSON Schema as the document has it. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
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
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: JsonSchema } } };
  readonly responses: Readonly<Record<string, ResponseNode | { readonly $ref: string }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationNode>>>>;
  readonly components: {
    readonly headers: Readonly<Record<string, HeaderNode>>;
    readonly responses: Readonly<Record<string, ResponseNode>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
}

/** One operation, with what may be sent to it. */
export interface ContractOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: JsonSchema | null;
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
        .map(([method, { operationId, parameters, requestBody }]) => ({
          id: operationId,
          method: method.toUpperCase(),
          path,
          parameters: parameters ?? [],
          body: requestBody?.content['application/json'].schema ?? null,
        })),
    );
  }

  /** The schema that a reference stands for; any other as it is. */
  resolved(schema: JsonSchema): JsonSchema {
    const name = schema.$ref?.replace('#/components/schemas/', '');
    return name === undefined ? schema : (this.#document.components.schemas[name] as JsonSchema);
  }

  /** Whether a value fits a schema of the document. */
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

  /** What an answer of an operation has that was not promised, or lacks that was; null where it is as promised. */
  problemWith({ method, path }: ContractOperation, answer: Answer): string | null {
    const { status, headers } = answer;
    const node = this.#document.paths[path]?.[method.toLowerCase()]?.responses[status];
    if (node === undefined) return `the status ${status} is not in the contract`;
    if (status === 500) return 'it failed';
    const response = '$ref' in node ? this.#response(node.$ref) : node;
    return this.#headerProblem(response, headers) ?? this.#bodyProblem(response, answer);
  }

  #response(reference: string): ResponseNode {
    return this.#document.components.responses[reference.replace('#/components/responses/', '')] as ResponseNode;
  }

  #headerProblem(response: ResponseNode, headers: Headers): string | null {
    for (const name of Object.keys(response.headers ?? {})) {
      const { required, schema } = this.#document.components.headers[name] as HeaderNode;
      const value = headers.get(name);
      if (value === null && required) return `the header ${name} is missing`;
      if (value !== null && !this.fits(schema, schema.type === 'integer' ? Number(value) : value)) {
        return `the header ${name} is ${JSON.stringify(value)}`;
      }
    }
    return null;
  }

  #bodyProblem({ content = {} }: ResponseNode, { headers, text }: Answer): string | null {
    const mediaType = headers.get('content-type') ?? 'none';
    const schema = content[mediaType]?.schema;
    if (schema === undefined) return `the media type ${mediaType} is not in the contract`;
    if (mediaType !== 'application/json') return null;
    const body = JSON.parse(text) as { readonly error?: { readonly request_id: string } };
    if (!this.fits(schema, body)) return `the body does not fit: ${text.slice(0, 500)}`;
    const named = body.error?.request_id;
    return named === undefined || named === headers.get('x-request-id') ? null : 'the request has two ids';
  }
}
