// node answers.mjs FOLDER CASES ANSWERS: what the modules in FOLDER answer to cases of golden.py.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, cases, answers] = process.argv.slice(2);
const compute = new Function(
  `${readFileSync(new URL("./compute.js", import.meta.url), "utf8")}; return compute;`)();
const page = {};
for (const name of readdirSync(folder)) {
  if (!name.endsWith(".js") || name === "main.js") continue; // that one needs a document
  Object.assign(page, await import(pathToFileURL(resolve(join(folder, name)))));
}
const given = JSON.parse(readFileSync(cases, "utf8"));
writeFileSync(answers, JSON.stringify(given.map((one) => compute(page, one))));
