/** The wrapper that makes a program a step of a workspace: the step copies its input to its output and works there. */

/**
 * The given program, after a few lines that enter the directory of its files.
 * @throws TypeError for a language that a workspace does not run
 */
export function inWorkspace(program: string, language: string): string {
  if (language === 'python') return pythonStep(program);
  if (language === 'bash') return `cp -R input/. output/ && cd output || exit 125; ${program}`;
  if (language === 'node' || language === 'typescript') return NODE_START + program;
  throw new TypeError(`a workspace runs python, node, typescript and bash, and not ${language}`);
}

const NODE_START =
  "process.getBuiltinModule('node:fs').cpSync('input', 'output', { recursive: true }); process.chdir('output'); ";

/** A Python step, which holds its program as a JSON string: that is a Python string, too. */
const pythonStep = (program: string) => `\
import os, shutil, sys
shutil.copytree("input", "output", copy_function=shutil.copyfile, dirs_exist_ok=True)
os.chdir("output")
sys.path.insert(0, os.getcwd())
sys.dont_write_bytecode = True
del os, shutil, sys
exec(compile(${JSON.stringify(program)}, "step.py", "exec", dont_inherit=True))
`;
