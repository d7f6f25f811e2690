/** Looks up citations of the contract in docs/SPEC.md: `Spec § Events`, or `Spec § Events 7, § Limits 3–5`. */
import { statementsOf } from '../../tools/statements.ts';

/** Numbers of rules: `3`, `7a`, `3–5`, `1, 2, 7`, `7 and 8`. */
const NUMBERS = /^ \d+[a-z]?(?:(?:–|, | and )\d+[a-z]?)*(?![\w.]\w)/;

/** Each heading in the contract, longest first, with the numbers of the rules below it. */
export type Sections = readonly (readonly [heading: string, rules: ReadonlySet<string>])[];

/** A text's citations that lead nowhere, each with a few of the words that follow it. */
export function unresolvedCitations(text: string, sections: Sections): string[] {
  return citationsIn(text)
    .filter((cited) => !leadsSomewhere(cited, sections))
    .map((cited) => cited.slice(0, 60));
}

/** The text after each § that cites the contract. Such a § follows `Spec`, or another citation and a comma. */
function citationsIn(text: string): string[] {
  const [before = '', ...parts] = text.replace(/\s*\n\s*(?:\*|\/\/|#)? */g, ' ').split('§ ');
  const cited: string[] = [];
  let previous = before;
  let isCited = false;
  for (const part of parts) {
    isCited = previous.endsWith('Spec ') || (isCited && /[,;] (?:and )?$/.test(previous));
    if (isCited) cited.push(part);
    previous = part;
  }
  return cited;
}

export function sectionsOf(contract: string): Sections {
  const headings = [...contract.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  const sections = new Map(headings.map((heading) => [heading, new Set<string>()]));
  for (const { id, section } of statementsOf(contract)) {
    const rule = id.slice(id.lastIndexOf('-') + 1);
    sections
      .get(section)
      ?.add(rule)
      .add(rule.replace(/[a-z]$/, ''));
  }
  return [...sections].toSorted(([one], [other]) => other.length - one.length);
}

function leadsSomewhere(cited: string, sections: Sections): boolean {
  const [heading, rules] = sections.find(([name]) => cited.startsWith(name)) ?? [];
  if (heading === undefined || rules === undefined) return false;
  const rest = cited.slice(heading.length);
  if (/^\w/.test(rest)) return false;
  const numbers = NUMBERS.exec(rest)?.[0].match(/\d+[a-z]?/g) ?? [];
  return numbers.every((number) => rules.has(number));
}
