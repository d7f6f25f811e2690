/** Puts a page's single script and single style into its HTML, and writes a policy that allows only these two. */
import { createHash } from 'node:crypto';
import type { Plugin, Rolldown } from 'vite';

/**
 * The page may show pictures and start threads that it itself makes. Everything else is refused, including requests to an address
 * that is not in `connects`. CSP Level 3.
 */
function policyOf(script: string, style: string, connects: string | null): string {
  return [
    "default-src 'none'",
    `script-src '${digestOf(script)}'`,
    `style-src '${digestOf(style)}'`,
    'img-src blob:',
    'worker-src blob:',
    ...(connects === null ? [] : [`connect-src ${connects}`]),
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types check-worker',
  ].join('; ');
}

interface OneFileOptions {
  /** The addresses to which the page may send requests, written as in a policy. Default: none. */
  readonly connects?: string | null;
  /** Markup at the end of the page. */
  readonly end?: string;
}

/** The Vite plugin. The policy is first in the head, because it applies only to what follows it. */
export function oneFile({ connects = null, end = '' }: OneFileOptions = {}): Plugin {
  return {
    name: 'one-file',
    generateBundle: {
      // Vite's own step writes the HTML. This step runs after it.
      order: 'post',
      handler(_options, bundle) {
        const script = onlyOne(bundle, (file) => file.type === 'chunk');
        const style = onlyOne(bundle, (file) => file.type === 'asset' && file.fileName.endsWith('.css'));
        const page = onlyOne(bundle, (file) => file.fileName === 'index.html') as Rolldown.OutputAsset;
        const scriptText = inScript((script as Rolldown.OutputChunk).code.trim());
        const styleText = textOf(style as Rolldown.OutputAsset)
          .replace(/\/\*\$vite\$:\d+\*\//, '')
          .trim();
        const policy = policyOf(scriptText, styleText, connects);
        page.source = textOf(page)
          .replace(/\s*<script type="module"[^>]*><\/script>/, '')
          .replace(/\s*<link rel="stylesheet"[^>]*>/, '')
          .replace('<head>', () => `<head><meta http-equiv="Content-Security-Policy" content="${policy}">`)
          .replace('</head>', () => `<style>${styleText}</style></head>`)
          .replace('</body>', () => `<script type="module">${scriptText}</script></body>`)
          .concat(end);
        for (const { fileName } of [script, style]) delete bundle[fileName];
      },
    },
  };
}

type File = Rolldown.OutputBundle[string];

function onlyOne(bundle: Rolldown.OutputBundle, isIt: (file: File) => boolean): File {
  const [file, ...others] = Object.values(bundle).filter(isIt);
  if (file === undefined || others.length > 0)
    throw new Error('the page is to have one script, one style and one HTML');
  return file;
}

function textOf({ source }: Rolldown.OutputAsset): string {
  return typeof source === 'string' ? source : new TextDecoder().decode(source);
}

/** Escapes texts inside the script that the HTML parser would take for the script's end. */
function inScript(code: string): string {
  return code.replaceAll(/<(?=\/script|!--|script)/gi, '\\x3c');
}

function digestOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
