/** Makes a program a workspace step: a wrapper copies the input to the output and runs the program there. */

/**
 * The given program, preceded by a few lines that enter the directory with its files.
 * @throws TypeError if a workspace does not run this language
 */
export function inWorkspace(program: string, language: string): string {
  if (language === 'python') return pythonStep(program);
  if (language === 'bash') return `cp -R input/. output/ && cd output || exit 125; ${program}`;
  if (language === 'node' || language === 'typescript') return NODE_START + program;
  throw new TypeError(`a workspace runs python, node, typescript and bash, and not ${language}`);
}

const NODE_START =
  "process.getBuiltinModule('node:fs').cpSync('input', 'output', { recursive: true }); process.chdir('output'); ";

/** A Python step. It contains the program as a JSON string, which is a Python string, too. */
const pythonStep = (program: string) => `\
import os, shutil, sys
shutil.copytree("input", "output", copy_function=shutil.copyfile, dirs_exist_ok=True)
os.chdir("output")
sys.path.insert(0, os.getcwd())
sys.dont_write_bytecode = True
del os, shutil, sys
exec(compile(${JSON.stringify(program)}, "step.py", "exec", dont_inherit=True))
`;
