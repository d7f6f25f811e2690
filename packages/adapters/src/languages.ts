/** The languages that a service offers now, each with the version that its interpreter reported in a cell. */
import type { ServiceClient } from '@vouchbox/client';
import type { Capabilities } from '@vouchbox/protocol';
import type { Language } from '@vouchbox/protocol/vocabulary';
import { refusals } from './adapter-error.ts';

export interface OfferedLanguage {
  readonly language: Language;
  /** The version that the interpreter reports, such as `3.11.2`. */
  readonly version: string;
}

const C_VERSION = '%d.%d.%d\\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__';

const JAVASCRIPT = `process.getBuiltinModule('fs').writeSync(1, process.versions.node)`;

/** A program that prints the version of its interpreter or compiler. */
const PROBES: Readonly<Record<Language, string>> = {
  python: 'import sys; print("%d.%d.%d" % sys.version_info[:3])',
  node: JAVASCRIPT,
  bash: 'echo "$BASH_VERSION" | cut -d"(" -f1',
  typescript: JAVASCRIPT,
  ruby: 'puts RUBY_VERSION',
  php: '<?php echo PHP_MAJOR_VERSION, ".", PHP_MINOR_VERSION, ".", PHP_RELEASE_VERSION, "\\n";',
  lua: 'print((_VERSION:gsub("Lua ", "")))',
  r: 'cat(R.version$major, ".", R.version$minor, "\\n", sep = "")',
  java: 'class Main { public static void main(String[] words) { System.out.println(Runtime.version().feature() + ".0.0"); } }',
  c: `#include <stdio.h>\nint main(void) { printf("${C_VERSION}); return 0; }`,
  cpp: `#include <cstdio>\nint main() { std::printf("${C_VERSION}); return 0; }`,
};

/** The packs in which programs run, keyed by language. For any other language, the service chooses the pack. */
export type Runtimes = Readonly<Partial<Record<Language, string>>>;

/** How long the service's answer about itself is reused. So a new pack may be noticed only after this time. */
const freshMilliseconds = 5000;

/** What the service offers now. The versions found by probing are kept until the service offers other languages or packs. */
export class Languages {
  readonly #client: ServiceClient;
  readonly #runtimes: Runtimes;
  #asked: { readonly at: number; readonly answer: Promise<Capabilities> } | null = null;
  #known: { readonly offer: string; readonly languages: Promise<readonly OfferedLanguage[]> } | null = null;

  constructor(client: ServiceClient, runtimes: Runtimes = {}) {
    this.#client = client;
    this.#runtimes = runtimes;
  }

  /** The pack in which programs in this language run; undefined if the service chooses. */
  runtimeOf(language: string): string | undefined {
    return this.#runtimes[language as Language];
  }

  /** @throws AdapterError if the service refuses or does not answer */
  async capabilities(): Promise<Capabilities> {
    if (this.#asked === null || performance.now() - this.#asked.at > freshMilliseconds) {
      this.#asked = { at: performance.now(), answer: this.#client.capabilities() };
    }
    const asked = this.#asked;
    return await refusals(asked.answer).catch((error: unknown) => {
      if (this.#asked === asked) this.#asked = null;
      throw error;
    });
  }

  /** @throws AdapterError if the service refuses or does not answer */
  async offered(): Promise<readonly OfferedLanguage[]> {
    const { languages, runtime_packs } = await this.capabilities();
    const offer = JSON.stringify([languages, runtime_packs]);
    if (this.#known?.offer !== offer) this.#known = { offer, languages: this.#probed(languages) };
    const known = this.#known;
    return await refusals(known.languages).catch((error: unknown) => {
      if (this.#known === known) this.#known = null;
      throw error;
    });
  }

  /** Probes one language after another: concurrent probes could use up the number of jobs that one caller may have at once. */
  async #probed(languages: readonly Language[]): Promise<readonly OfferedLanguage[]> {
    const offered: OfferedLanguage[] = [];
    for (const language of languages) offered.push(await this.#probe(language));
    return offered;
  }

  /** Runs the program that prints a language's version; `0.0.0` if no version was printed. */
  async #probe(language: Language): Promise<OfferedLanguage> {
    const runtime = this.runtimeOf(language);
    const { job_id } = await this.#client.submit({ language, code: PROBES[language], ...(runtime && { runtime }) });
    const { stdout } = await this.#client.waitForResult(job_id);
    return { language, version: stdout.trim() || '0.0.0' };
  }
}

/**
 * Why programs cannot run in these packs; null if they can.
 * @throws AdapterError if the service refuses or does not answer
 */
export async function runtimesProblem(runtimes: Runtimes, languages: Languages): Promise<string | null> {
  const { runtime_packs } = await languages.capabilities();
  for (const [language, name] of Object.entries(runtimes)) {
    const able = runtime_packs.filter((pack) => pack.languages.some((one) => one === language));
    if (able.some((pack) => pack.name === name)) continue;
    const names = [...new Set(able.map((pack) => pack.name))].join(', ');
    return `the service has no pack ${name} for ${language}; ${names === '' ? 'it has none' : `it has ${names}`}`;
  }
  return null;
}
