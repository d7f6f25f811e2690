/**
 * Makes elements from text and other elements. Nothing here takes markup: what a program wrote stays text, and the page's policy
 * refuses any sink that would parse text as markup.
 */
type Child = Node | string | null;
type Attributes = Readonly<Record<string, string>>;

/** An element with these attributes and children; null children are left out. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes,
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  return filled(document.createElement(name), attributes, children);
}

/** Makes an element for a picture. */
export function drawing<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes,
  ...children: readonly Child[]
): SVGElementTagNameMap[Name] {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function filled<Made extends Element>(made: Made, attributes: Attributes, children: readonly Child[]): Made {
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** An element in the page's own HTML. */
export function byId<Made extends HTMLElement>(id: string): Made {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element ${id}`);
  return found as Made;
}

/** A part of the report, under a heading. `id` names the part in the outline. */
export function section(id: string, title: string, ...children: readonly Child[]): HTMLElement {
  const heading = element('h2', { id: `${id}-title` }, title);
  return element('section', { id, 'aria-labelledby': `${id}-title` }, heading, ...children);
}

const MARKS = {
  passed: { path: 'M5 10.5l3.2 3.2L15 6.8', label: 'passed' },
  failed: { path: 'M6 6l8 8M14 6l-8 8', label: 'failed' },
  not_tried: { path: 'M6 10h8', label: 'not tried' },
} as const;
export type Mark = keyof typeof MARKS;

/** A tick, a cross or a dash, with a word for people who cannot see it. */
export function mark(state: Mark): SVGElement {
  const { path, label } = MARKS[state];
  return drawing(
    'svg',
    { class: `mark ${state}`, viewBox: '0 0 20 20', role: 'img', 'aria-label': label },
    drawing('circle', { cx: '10', cy: '10', r: '9' }),
    drawing('path', { d: path }),
  );
}
