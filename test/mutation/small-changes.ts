/** Small changes to a source, found by its syntax. Each one makes the source behave differently, so a test should notice it. */
import ts from 'typescript';

export interface SmallChange {
  /** The line number, from 1. */
  readonly line: number;
  /** The text before and after the change, each on one line. */
  readonly from: string;
  readonly to: string;
  /** The whole changed source. */
  readonly text: string;
}

const OTHER_OPERATOR: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.AmpersandAmpersandToken]: '||',
  [ts.SyntaxKind.BarBarToken]: '&&',
  [ts.SyntaxKind.PlusToken]: '-',
  [ts.SyntaxKind.MinusToken]: '+',
};

/** Every small change to one source, except changes to types, imports and texts. */
export function smallChanges(source: string): SmallChange[] {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true);
  const changes: SmallChange[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    for (const [at, to] of changesAt(node)) changes.push(changed(file, at, to));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return changes;
}

/** The replacements for a node, or for a part of the node. */
function changesAt(node: ts.Node): [at: ts.Node, to: string][] {
  if (ts.isBinaryExpression(node)) {
    if (node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) return [[node, `(${node.left.getText()})`]];
    const operator = OTHER_OPERATOR[node.operatorToken.kind];
    return operator === undefined ? [] : [[node.operatorToken, operator]];
  }
  if (ts.isIfStatement(node)) return eitherWay(node.expression);
  if (ts.isConditionalExpression(node)) return eitherWay(node.condition);
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
    return [[node, `(${node.operand.getText()})`]];
  }
  if (ts.isExpressionStatement(node)) return [[node, ';']];
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [[node, 'false']];
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [[node, 'true']];
  if (ts.isNumericLiteral(node)) return [[node, `(${node.text} + 1)`]];
  return [];
}

function eitherWay(condition: ts.Expression): [at: ts.Node, to: string][] {
  return [
    [condition, 'true'],
    [condition, 'false'],
  ];
}

function changed(file: ts.SourceFile, at: ts.Node, to: string): SmallChange {
  const [start, end] = [at.getStart(file), at.getEnd()];
  return {
    line: file.getLineAndCharacterOfPosition(start).line + 1,
    from: file.text.slice(start, end).replace(/\s+/g, ' '),
    to,
    text: file.text.slice(0, start) + to + file.text.slice(end),
  };
}
