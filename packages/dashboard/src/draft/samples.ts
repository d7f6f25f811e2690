/** A short program in each language to begin with. */
import type { Language } from '@vouchbox/protocol/vocabulary';

const SAMPLES: Readonly<Record<string, string>> = {
  python: "import sys\n\nname = sys.stdin.readline().strip() or 'world'\nprint(f'hello, {name}')\n",
  node: "const answer = [1, 2, 3].map((n) => n * n);\nconsole.log('squares:', answer.join(' '));\n",
  typescript: "const squares: number[] = [1, 2, 3].map((n) => n * n);\nconsole.log('squares:', squares.join(' '));\n",
  bash: 'for n in 1 2 3; do\n  echo "line $n"\n  sleep 0.5\ndone\n',
  ruby: "puts (1..3).map { |n| n * n }.join(' ')\n",
  php: '<?php\necho implode(\' \', array_map(fn($n) => $n * $n, [1, 2, 3])), "\\n";\n',
  lua: 'for n = 1, 3 do\n  print(n * n)\nend\n',
  r: 'print((1:3)^2)\n',
  java: 'class Main {\n  public static void main(String[] args) {\n    System.out.println("hello, world");\n  }\n}\n',
  c: '#include <stdio.h>\n\nint main(void) {\n  puts("hello, world");\n}\n',
  cpp: '#include <iostream>\n\nint main() {\n  std::cout << "hello, world\\n";\n}\n',
} satisfies Record<Language, string>;

/** A language's sample; empty if it has none. */
export function sampleOf(language: string): string {
  return SAMPLES[language] ?? '';
}
