/**
 * Takes the documents' pictures from today's pages, and compares each picture with its file. With `PICTURES=1`, a file
 * that differs is replaced. docs/decisions/0079.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';
import type { Page } from '../rig/browser.ts';

export const images = join(import.meta.dirname, '../../docs/images');
const refused = join(import.meta.dirname, '../../node_modules/.cache/vouchbox-pictures');

/** Fonts from `fonts-dejavu-core`, which the set-up installs for the tests. */
const FONTS = { '--font': 'DejaVu Sans', '--mono': 'DejaVu Sans Mono' };

/**
 * The share of pixels that may differ, not counting smoothed edges. Another browser release may round a corner
 * differently. One changed word changes more pixels than this.
 */
export const differingMax = 0.0002;

/** Texts that differ from run to run, and the texts that a picture shows in place of them. */
const STEADY: readonly (readonly [differs: string, shown: string])[] = [
  ['job_[0-9a-f-]{36}', 'job_0197c0de-0000-7000-8000-000000000001'],
  ['(?<=sha256:)[0-9a-f]{12}', '5a0e4b7c1d92'],
  ['(?<=sha256:[0-9a-f]{12})[0-9a-f]{52}', '8f3061e2b49d7c05a8f3061e2b49d7c05a8f3061e2b49d7c05a8'],
  ['[\\d.]+ m?s(?=\\.|$|,)', '48 ms'],
  ['[A-Z][a-z]{2} \\d+, \\d{4}, [\\d:]+ [AP]M', 'Nov 27, 2026, 9:30:00 AM'],
];

/** Whether the browser has the pictures' fonts. If a font is missing, the next named font is measured instead. */
export function hasLetters(page: Page): Promise<boolean> {
  return page.evaluate((fonts) => {
    const pen = document.createElement('canvas').getContext('2d') as CanvasRenderingContext2D;
    const widthIn = (font: string) => {
      pen.font = `40px ${font}`;
      return pen.measureText('mill WIM').width;
    };
    return fonts.every((font) => widthIn(`"${font}", serif`) === widthIn(`"${font}", monospace`));
  }, Object.values(FONTS));
}

/** A picture of the window, scrolled to the top, in the pictures' fonts. */
export async function takePicture(page: Page): Promise<Buffer> {
  await page.evaluate(
    ({ fonts, steady }) => {
      for (const [name, font] of Object.entries(fonts)) document.documentElement.style.setProperty(name, `"${font}"`);
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (texts.nextNode() !== null) {
        const text = texts.currentNode as Text;
        for (const [differs, shown] of steady) text.data = text.data.replaceAll(new RegExp(differs, 'g'), shown);
      }
      (document.activeElement as HTMLElement | null)?.blur();
      scrollTo(0, 0);
    },
    { fonts: FONTS, steady: STEADY },
  );
  return page.screenshot({ animations: 'disabled' });
}

/** How much of one picture differs from the other, from 0 to 1; 1 if the sizes differ. */
export function differenceOf(one: Buffer, other: Buffer): number {
  const [a, b] = [PNG.sync.read(one), PNG.sync.read(other)];
  if (a.width !== b.width || a.height !== b.height) return 1;
  return pixelmatch(a.data, b.data, undefined, a.width, a.height, { threshold: 0.1 }) / (a.width * a.height);
}

/** How a picture differs from its file; null if it does not differ, or if the file was replaced. */
export function problemOf(name: string, picture: Buffer): string | null {
  const file = join(images, name);
  const difference = existsSync(file) ? differenceOf(picture, readFileSync(file)) : 1;
  if (difference <= differingMax) return null;
  const isWritten = process.env['PICTURES'] === '1';
  const folder = isWritten ? images : refused;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), small(picture));
  if (isWritten) return null;
  const part = (difference * 100).toFixed(2);
  return `${part} % of it differs from what the page shows, which is in ${folder}. PICTURES=1 npm run browser -- pictures takes it anew.`;
}

/** The same pixels in fewer bytes: without transparency and without PNG filters. Such filters help with photographs. */
function small(picture: Buffer): Buffer {
  return PNG.sync.write(PNG.sync.read(picture), { colorType: 2, filterType: 0, deflateLevel: 9, deflateStrategy: 0 });
}
