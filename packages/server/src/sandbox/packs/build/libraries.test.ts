/** The libraries of a pack, in trees as Debian, pip and npm leave them. */
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { freshDirectory, plantTree } from '../pack.fixture.ts';
import { librariesIn } from './libraries.ts';

const DEBIAN = 'usr/lib/python3/dist-packages';
const PIP = 'usr/local/lib/python3.11/dist-packages';
const metadata = (name: string, version: string) =>
  `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n\nName: not\n`;

describe('the libraries of a pack', () => {
  test('have the names by which a program imports them', () => {
    const tree = plantTree(freshDirectory(), {
      [`${DEBIAN}/numpy/__init__.py`]: '',
      [`${DEBIAN}/numpy-1.24.egg-info/PKG-INFO`]: metadata('numpy', '1.24'),
      [`${DEBIAN}/numpy-1.24.egg-info/top_level.txt`]: 'numpy\n',
      [`${DEBIAN}/six.py`]: '',
      [`${DEBIAN}/six-1.16.egg-info`]: metadata('six', '1.16'),
      [`${DEBIAN}/_fast.cpython-311-x86_64-linux-gnu.so`]: '',
      [`${DEBIAN}/own.py`]: '',
      [`${DEBIAN}/gone-1.egg-info`]: metadata('gone', '1'),
      [`${PIP}/cv2/__init__.py`]: '',
      [`${PIP}/opencv_python-4.8.dist-info/METADATA`]: metadata('opencv-python', '4.8'),
      [`${PIP}/opencv_python-4.8.dist-info/RECORD`]:
        'cv2/__init__.py,,\n../../bin/x,,\nopencv_python-4.8.dist-info/RECORD,,\n',
      'usr/local/lib/node_modules/ms/package.json': '{"version":"2.1.3"}',
      'usr/local/lib/node_modules/@scope/name/package.json': '{"version":7}',
      'usr/local/lib/node_modules/bad/package.json': '{',
    });
    expect(librariesIn(tree)).toEqual([
      { language: 'node', name: '@scope/name', version: null, modules: ['@scope/name'] },
      { language: 'node', name: 'ms', version: '2.1.3', modules: ['ms'] },
      { language: 'python', name: 'numpy', version: '1.24', modules: ['numpy'] },
      { language: 'python', name: 'opencv-python', version: '4.8', modules: ['cv2'] },
      { language: 'python', name: 'own', version: null, modules: ['own'] },
      { language: 'python', name: 'six', version: '1.16', modules: ['six'] },
    ]);
  });

  test('are never read through a link, and an empty tree has no libraries', () => {
    expect(librariesIn(plantTree(freshDirectory()))).toEqual([]);
    const tree = plantTree(freshDirectory(), { 'usr/local/lib/python3.11/': '' });
    const outside = plantTree(freshDirectory(), { 'secret/secret.py': '' });
    symlinkSync(join(outside, 'secret'), join(tree, PIP));
    symlinkSync(join(outside, 'secret'), join(tree, 'usr/local/lib/node_modules'));
    expect(librariesIn(tree)).toEqual([]);
  });
});
