import { describe, expect, test } from 'vitest';
import { missingModule, missingModuleRemark } from './missing-module.ts';

describe('a library that a program failed to import', () => {
  test.each([
    ["ModuleNotFoundError: No module named 'numpy'", { language: 'python', module: 'numpy' }],
    ["ModuleNotFoundError: No module named 'google.protobuf'", { language: 'python', module: 'google' }],
    ["Error: Cannot find module 'lodash/fp'", { language: 'node', module: 'lodash' }],
    ["Error: Cannot find module '@scope/name/part'", { language: 'node', module: '@scope/name' }],
    [
      "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'ms' imported from /work/main.mjs",
      { language: 'node', module: 'ms' },
    ],
    ["Error: Cannot find module './own.js'", null],
    ["Error: Cannot find module '/work/own.js'", null],
    ["ModuleNotFoundError: No module named 'x\u001b[2J'", null],
    ['all is well', null],
  ])('is found in the error output %j', (stderr, missing) => {
    expect(missingModule(stderr)).toEqual(missing);
  });

  const pack = { version: '1', languages: ['python' as const], digest: '' };
  const cv = { language: 'python', name: 'opencv-python', version: '4', modules: ['cv2'] };

  test('is reported by its import name, with every pack that has it', () => {
    const packs = [
      { ...pack, name: 'vision', libraries: [cv] },
      { ...pack, name: 'other', libraries: [{ ...cv, language: 'node' }] },
      { ...pack, name: 'more', libraries: [cv] },
    ];
    const said = missingModuleRemark({ language: 'python', module: 'cv2' }, packs, '--runtime');
    expect(said).toBe('cv2 is in a pack: --runtime vision, or --runtime more');
  });

  test('is reported as absent from all listed packs, together with the packs whose libraries are unknown', () => {
    const packs = [
      { ...pack, name: 'system' },
      { ...pack, name: 'old' },
      { ...pack, name: 'vision', libraries: [cv] },
    ];
    expect(missingModuleRemark({ language: 'python', module: 'torch' }, packs, '--runtime')).toBe(
      'no listed pack of this service has torch; the libraries of old are not listed: build it again to list them; ' +
        '`vouchbox libraries pack` lets a job bring it, `vouchbox packs build` makes a pack',
    );
  });
});
