/**
 * Tries a whole provider: its runtime, and then real cells in which every language, the ordinary tools and every runtime pack run
 * a program. These cells are the same as those that a service makes.
 */
import { type Language, LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { SYSTEM_PACK } from '../../cell/pack.ts';
import type { Candidate } from '../../classes/candidate.ts';
import { SYSTEM_LANGUAGES } from '../../program/language-runs.ts';
import { type Ending, PLAIN_PROGRAM, type Posture, type Program } from '../../sandbox.ts';
import { runCanary } from '../canary.ts';
import { type Finding, fail, pass, warn } from './finding.ts';
import type { ProviderFinding } from './report.ts';
import type { Checks, Trial } from './trial.ts';

const CURRENT_RUNSC = "install a current runsc from gVisor's own releases: Debian's is from 2022";
/** How long the tools may take: on a slow host, tools that work must not run out of time. */
const TOOLS_SECONDS_MAX = 120;
const LANGUAGE_FIXES: Readonly<Record<(typeof SYSTEM_LANGUAGES)[number], string>> = {
  python: 'apt-get install --reinstall python3',
  node: 'apt-get install libstdc++6 libatomic1, which the Node of this service needs',
  bash: 'apt-get install --reinstall bash',
  typescript: 'apt-get install libstdc++6 libatomic1, which the Node of this service needs',
};

export interface CellTrialOptions {
  readonly provider: ProviderFinding['provider'];
  /** Ids of the checks that must pass so that a cell can be made. */
  readonly needs: readonly string[];
  readonly open: () => Promise<Candidate>;
}

/** Tries one provider from its first cell to its packs. */
export async function tryCells(checks: Checks, { provider, needs, open }: CellTrialOptions): Promise<ProviderFinding> {
  const id = `${provider}.cells`;
  let cells: Candidate | undefined;
  await checks.run([
    {
      id,
      title: `${provider}: cells can be made`,
      needs,
      fix: 'see the checks above; `vouchbox doctor` must be run as root',
      async attempt() {
        cells = await open();
        return pass(`as ${cells.backend}`);
      },
    },
  ]);
  const languages = await tryLanguages(checks, { provider, id, cells });
  await checks.run([toolsTrial(provider, cells)]);
  for (const pack of packTrials(provider, cells)) await checks.run([pack]);
  await cells?.[Symbol.asyncDispose]();
  return { provider, usable: languages.length > 0, languages };
}

interface LanguageTrialOptions {
  readonly provider: string;
  readonly id: string;
  readonly cells: Candidate | undefined;
}

async function tryLanguages(checks: Checks, { provider, id, cells }: LanguageTrialOptions): Promise<Language[]> {
  const idOf = (language: Language) => `${provider}.${language}`;
  await checks.run(
    SYSTEM_LANGUAGES.map((language) => ({
      id: idOf(language),
      title: `${provider}: ${language} runs a program exactly, with its protections observed`,
      needs: [id],
      fix: LANGUAGE_FIXES[language],
      attempt: () => tryLanguage(language, cells as Candidate),
    })),
  );
  return SYSTEM_LANGUAGES.filter((language) => checks.holds(idOf(language)));
}

async function tryLanguage(language: Language, cells: Candidate): Promise<Finding> {
  const result = await runCanary(language, (readyMilliseconds) =>
    cells.prepare({ language, runtime: null, readyMilliseconds }),
  );
  if ('problem' in result) throw new Error(result.problem);
  return pass(describePosture(result.posture));
}

/** Describes what was observed in a running cell. A cell that lacks one of these controls would not have been made. */
function describePosture(posture: Posture): string {
  const { isolation_class, seccomp, no_new_privileges, capabilities, networking, private_rootfs } = posture;
  const facts = { isolation_class, seccomp, no_new_privileges, capabilities, networking, private_rootfs };
  return Object.entries(facts)
    .map(([name, value]) => `${name} ${value ?? 'not observed'}`)
    .join(', ');
}

/** The trial of the ordinary tools: `ls` and `stat` need calls that an old gVisor does not have. */
function toolsTrial(provider: string, cells: Candidate | undefined): Trial {
  const fix = provider === 'gvisor' ? CURRENT_RUNSC : 'apt-get install --reinstall coreutils';
  return {
    id: `${provider}.tools`,
    title: `${provider}: ls and stat work`,
    needs: [`${provider}.bash`],
    fix,
    async attempt() {
      const run = await runBash('ls -ld /usr >/dev/null && stat /usr >/dev/null && echo work', cells as Candidate);
      return toolsFinding(run, fix);
    },
  };
}

/** The output of a small bash program on both streams, and how it ended. */
export interface BashRun {
  readonly said: string;
  readonly ending: Ending;
}

/** The tools' finding. A timeout says something about the host's speed, and nothing about the tools. */
export function toolsFinding({ said, ending }: BashRun, fix: string): Finding {
  if (ending.kind === 'wall_limit' || ending.kind === 'cpu_limit') {
    return warn(
      `they did not end within ${TOOLS_SECONDS_MAX} s, so nothing is known`,
      'try again when the host is less busy',
    );
  }
  if (ending.kind === 'exited' && ending.exit_code === 0 && said === 'work\n') return pass('both work');
  const how = ending.kind === 'exited' ? `exit code ${ending.exit_code}` : ending.kind;
  return warn(`they fail: ${[how, said.trim()].filter(Boolean).join(', ')}`, fix);
}

async function runBash(code: string, cells: Candidate): Promise<BashRun> {
  await using cell = await cells.prepare({ language: 'bash', runtime: null });
  const program: Program = {
    language: 'bash',
    code,
    ...PLAIN_PROGRAM,
    limits: { ...LIMIT_DEFAULTS, wall_seconds: TOOLS_SECONDS_MAX, cpu_seconds: TOOLS_SECONDS_MAX },
  };
  const loaded = await cell.handOver(program);
  let said = '';
  const running = loaded.release((_, records) => {
    for (const record of records) said += `${record.text}\n`;
  });
  const { ending } = await running.collect();
  return { said, ending };
}

function packTrials(provider: string, cells: Candidate | undefined): Trial[] {
  const leftOut = cells?.packsLeftOut ?? [];
  const packs = (cells?.runtime_packs ?? []).filter(({ name }) => name !== SYSTEM_PACK);
  const title = (pack: string) => `${provider}: the runtime pack ${pack} runs its languages`;
  return [
    ...leftOut.map(({ pack, problem }) => ({
      id: `${provider}.pack.${pack.replace(' ', '-')}`,
      title: title(pack),
      fix: 'vouchbox packs remove it, then vouchbox packs build it again',
      attempt: () => fail(problem, 'vouchbox packs remove it, then vouchbox packs build it again'),
    })),
    ...packs.map((pack) => ({
      id: `${provider}.pack.${pack.name}-${pack.version}`,
      title: title(`${pack.name} ${pack.version}`),
      fix: `add the packages of the missing interpreter to the recipe of ${pack.name}, and build another version`,
      attempt: async () => {
        for (const language of pack.languages) {
          const result = await runCanary(language, (readyMilliseconds) =>
            (cells as Candidate).prepare({ language, runtime: pack.name, readyMilliseconds }),
          );
          if ('problem' in result) throw new Error(`${language}: ${result.problem}`);
        }
        return pass(`${pack.languages.join(', ')} run, sha256 ${pack.digest}`);
      },
    })),
  ];
}
