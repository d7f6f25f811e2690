/** The tools of a submission: their names, their schemas and their bounds. */
import { canonicalJson } from '@vouchbox/evidence';
import {
  type JobSubmission,
  type StoredTools,
  schemaProblem,
  TOOL_LIMIT_CEILINGS,
  TOOL_LIMIT_DEFAULTS,
  TOOL_LIMIT_NAMES,
  type Tool,
  type ToolLimits,
  type ToolLimitsInput,
  toolSchemaBytesMax,
} from '@vouchbox/protocol';
import { refusal } from './refuse.ts';

type Asked = Pick<JobSubmission, 'tools' | 'tool_limits' | 'tool_principals'>;

/**
 * The tools in the form in which they are stored; null if there are none. `answered_by` still lacks the principal who submits.
 *
 * @throws ServiceError `invalid_request` or `payload_too_large`
 */
export function checkedTools({ tools, tool_limits, tool_principals }: Asked): StoredTools | null {
  if (tools === undefined) {
    const odd = tool_limits === undefined ? tool_principals && '/tool_principals' : '/tool_limits';
    if (odd !== undefined) throw refusal('invalid_request', odd, 'must be left out: there are no tools');
    return null;
  }
  checkNames(tools);
  checkSchemas(tools);
  return { tools: [...tools], answered_by: [...(tool_principals ?? [])], limits: clamped(tool_limits ?? {}) };
}

function checkNames(tools: readonly Tool[]): void {
  const names = tools.map(({ name }) => name);
  const again = names.findIndex((name, at) => names.indexOf(name) < at);
  if (again >= 0) throw refusal('invalid_request', `/tools/${again}/name`, 'is the name of another tool');
  for (const [at, { description = '' }] of tools.entries())
    if (!description.isWellFormed())
      throw refusal('invalid_request', `/tools/${at}/description`, 'holds a lone surrogate, which has no UTF-8 form');
}

function clamped(asked: ToolLimitsInput): ToolLimits {
  const limits = { ...TOOL_LIMIT_DEFAULTS };
  for (const name of TOOL_LIMIT_NAMES)
    limits[name] = Math.min(Math.max(1, Math.floor(asked[name] ?? limits[name])), TOOL_LIMIT_CEILINGS[name]);
  return limits;
}

function checkSchemas(tools: readonly Tool[]): void {
  let bytes = 0;
  for (const [at, tool] of tools.entries()) {
    for (const member of ['arguments', 'result'] as const) {
      const schema = tool[member];
      if (schema === undefined) continue;
      bytes += Buffer.byteLength(canonicalJson(schema));
      const wrong = schemaProblem(schema);
      if (wrong !== null) throw refusal('invalid_request', `/tools/${at}/${member}${wrong.pointer}`, wrong.problem);
    }
  }
  if (bytes > toolSchemaBytesMax)
    throw refusal(
      'payload_too_large',
      '/tools',
      `have schemas of ${bytes} bytes; at most ${toolSchemaBytesMax} are allowed`,
    );
}
