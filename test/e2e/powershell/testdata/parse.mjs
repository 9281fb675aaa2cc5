// Parses the PowerShell scripts named on the command line with tree-sitter-powershell, and prints a
// line "FILE:LINE:COLUMN: what" for each place that the grammar does not have.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Language, Parser } from "web-tree-sitter";

await Parser.init();
const grammar = createRequire(import.meta.url).resolve("tree-sitter-powershell/tree-sitter-powershell.wasm");
const parser = new Parser();
parser.setLanguage(await Language.load(grammar));

// report prints the innermost errors below a node.
function report(file, node) {
  if (!node.hasError) return 0;
  let found = 0;
  for (const child of node.children) found += report(file, child);
  if (found === 0) {
    const at = node.startPosition;
    const text = node.text.split("\n")[0].slice(0, 60);
    console.log(`${file}:${at.row + 1}:${at.column + 1}: ${node.isMissing ? "missing " + node.type : "error"}: ${text}`);
    found = 1;
  }
  return found;
}

let errors = 0;
for (const file of process.argv.slice(2)) errors += report(file, parser.parse(readFileSync(file, "utf8")).rootNode);
console.log(`${process.argv.length - 2} scripts, ${errors} errors`);
process.exitCode = errors === 0 ? 0 : 1;
