/**
 * A grading as one page that loads nothing: no script, no font, no picture. Every text is escaped where it is inserted, above
 * all what programs wrote. The page's policy allows only the page's own style.
 */
import {
  durationText,
  type GradedProblem,
  type GradedTest,
  memoryText,
  pointsText,
  shareText,
} from './graded-problem.ts';

/** The most characters shown of each of a sample's texts. A report is for reading; it is not evidence. */
const TEXT_MAX = 4000;

/** Text that is markup. Only such text is inserted into a page unescaped. */
class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Markup | readonly Markup[];

function html(parts: TemplateStringsArray, ...values: readonly Part[]): Markup {
  return new Markup(parts.reduce((text, part, at) => text + textOf(values[at - 1] ?? '') + part));
}

function textOf(value: Part): string {
  if (value instanceof Markup) return value.text;
  return typeof value === 'object' ? value.map(({ text }) => text).join('\n') : escaped(String(value));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
/** Control characters and marks that change the direction of text. They would change what a reader sees. */
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

function escaped(text: string): string {
  return text
    .replaceAll(UNSEEN, (mark) => (mark === '\n' || mark === '\t' ? mark : '\ufffd'))
    .replaceAll(/[&<>"']/g, (mark) => ENTITIES[mark] ?? '');
}

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d5dbe1, #3a4149); --good: light-dark(#176f3c, #5fd08a);
  --bad: light-dark(#a3262a, #ff8f8f); --quiet: light-dark(#5a6672, #a3adb8); --box: light-dark(#f4f6f8, #20262c); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin: 0; } h2 { margin: 2rem 0 .5rem; font-size: 1.1rem; }
.quiet { color: var(--quiet); } .good { color: var(--good); } .bad { color: var(--bad); }
.total { font-size: 1.4rem; font-weight: 600; margin: .5rem 0; }
table { border-collapse: collapse; width: 100%; } th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: left; }
th { font-weight: 600; } .number { text-align: right; font-variant-numeric: tabular-nums; } .number, .word { white-space: nowrap; }
code, pre { font: 13px/1.45 ui-monospace, monospace; } td code { overflow-wrap: anywhere; }
pre { background: var(--box); padding: .6rem; overflow-x: auto; margin: .2rem 0 .8rem; }
`;

/** @param made when the report was written, in the form that the page shows */
export function htmlReport(graded: GradedProblem, made: string): string {
  const { title, program, accepted, tests, groups, judge } = graded;
  const policy = "default-src 'none'; style-src 'unsafe-inline'";
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}: ${program}</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
<h1>${title}</h1>
<div class="quiet"><code>${program}</code>, graded ${made}</div>
<p class="total ${accepted ? 'good' : 'bad'}">${accepted ? '✓ accepted' : '✗ not accepted'}, ${pointsText(graded, ' of ')} points</p>
${groups.length === 0 ? html`` : groupsTable(graded)}
<h2>Tests</h2>
<table>
<thead><tr><th>test</th><th>verdict</th><th class="number">points</th><th class="number">CPU</th><th class="number">wall clock</th><th class="number">memory</th><th>job</th></tr></thead>
<tbody>
${tests.map(testRow)}
</tbody>
</table>
${samples(tests)}
<p class="quiet">Each verdict is in the output of the judge’s job <code>${judge}</code>, which the service signs where it signs results.
<code>vouchbox grade --output DIRECTORY</code> writes it with its evidence, and <code>service-verify verdict</code> checks that. This page is not signed.</p>
</body>
</html>
`;
  return text;
}

function groupsTable({ groups }: GradedProblem): Markup {
  return html`<h2>Groups</h2>
<table>
<thead><tr><th>group</th><th class="number">accepted</th><th class="number">points</th></tr></thead>
<tbody>
${groups.map(
  (group) =>
    html`<tr><td>${group.name}</td><td class="number">${group.acceptedTests} of ${group.tests}</td><td class="number">${shareText(group, ' of ')}</td></tr>`,
)}
</tbody>
</table>`;
}

function testRow(test: GradedTest): Markup {
  const isGood = test.verdict === 'accepted';
  const word = `${isGood ? '✓' : '✗'} ${test.verdict.replaceAll('_', ' ')}`;
  const remark = test.remark === null ? html`` : html`<div class="quiet">${test.remark}</div>`;
  return html`<tr><td>${test.name}</td><td class="${isGood ? 'good' : 'bad'}"><span class="word">${word}</span>${remark}</td><td class="number">${shareText(test, ' of ')}</td><td class="number">${durationText(test.run?.cpu_ms)}</td><td class="number">${durationText(test.run?.wall_ms)}</td><td class="number">${memoryText(test.run?.memory_peak_bytes)}</td><td><code>${test.run?.job_id ?? ''}</code></td></tr>`;
}

function samples(tests: readonly GradedTest[]): Markup {
  const shown = tests.flatMap((test) => (test.texts === null ? [] : [sample(test, test.texts)]));
  return shown.length === 0 ? html`` : html`<h2>Samples</h2>\n${shown}`;
}

function sample({ name, verdict }: GradedTest, texts: NonNullable<GradedTest['texts']>): Markup {
  const shown = (['input', 'expected', 'output', 'errors'] as const).filter(
    (key) => key !== 'errors' || texts[key] !== '',
  );
  return html`<details${new Markup(verdict === 'accepted' ? '' : ' open')}>
<summary>${name}: ${verdict.replaceAll('_', ' ')}</summary>
${shown.map((key) => html`<div class="quiet">${key}</div><pre>${shortened(texts[key])}</pre>`)}
</details>`;
}

function shortened(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}\n… and ${text.length - TEXT_MAX} more characters`;
}
