/** `service-verify agree`: compares exports from several services, for somebody who received them. */
import { type AgreeReport, compareRuns } from './agree.ts';
import { readExportDirectory } from './export-directory.ts';
import { parsePolicy } from './policy.ts';
import { UsageError } from './usage-error.ts';
import { readPublicKey, type TrustOptions } from './verify.ts';

export interface AgreeOptions extends Pick<TrustOptions, 'publicKey'> {
  readonly require: readonly string[];
}

const OPERATORS = /^operators(?<bound>.*)$/;

export async function compareDirectories(
  directories: readonly string[],
  { publicKey, require }: AgreeOptions,
): Promise<AgreeReport> {
  if (directories.length < 2) throw new UsageError('agree compares two exports or more');
  const ofAll = require.filter((text) => OPERATORS.test(text));
  const policy = parsePolicy({ require: require.filter((text) => !OPERATORS.test(text)) });
  const expected = {
    publicKeys: publicKey.map(readPublicKey),
    policy,
    operatorsMin: Math.max(1, ...ofAll.map(leastOf)),
  };
  return await compareRuns(
    directories.map((name) => ({ name, exported: readExportDirectory(name) })),
    expected,
  );
}

function leastOf(text: string): number {
  const [, least] = /^operators>=(\d{1,3})$/.exec(text) ?? [];
  if (least === undefined) throw new UsageError(`malformed requirement ${text}; it must be operators>=N`);
  return Number(least);
}
