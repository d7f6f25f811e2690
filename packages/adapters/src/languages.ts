/** The languages that a service offers now, each with the version that its interpreter said of itself in a cell. */
import type { ServiceClient } from '@vouchbox/client';
import type { Language } from '@vouchbox/protocol/vocabulary';

export interface OfferedLanguage {
  readonly language: Language;
  /** Such as `3.11.2`. */
  readonly version: string;
}

const C_VERSION = '%d.%d.%d\\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__';

const JAVASCRIPT = `process.getBuiltinModule('fs').writeSync(1, process.versions.node)`;

/** Programs that print the version of what runs or compiles them. */
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

/** Remembers the versions until the service offers other languages or packs. */
export class Languages {
  readonly #client: ServiceClient;
  #known: { readonly offer: string; readonly languages: Promise<readonly OfferedLanguage[]> } | null = null;

  constructor(client: ServiceClient) {
    this.#client = client;
  }

  async offered(): Promise<readonly OfferedLanguage[]> {
    const { languages, runtime_packs } = await this.#client.capabilities();
    const offer = JSON.stringify([languages, runtime_packs]);
    if (this.#known?.offer !== offer) {
      this.#known = { offer, languages: Promise.all(languages.map((language) => this.#probe(language))) };
    }
    return await this.#known.languages;
  }

  /** `0.0.0` if the language did not say. */
  async #probe(language: Language): Promise<OfferedLanguage> {
    const { job_id } = await this.#client.submit({ language, code: PROBES[language] });
    const { stdout } = await this.#client.waitForResult(job_id);
    return { language, version: stdout.trim() || '0.0.0' };
  }
}
