// Where an answer is more likely to be: guides before reference, claims and benchmarks last.
var PLACES = [
  [/^guides\/questions/, 25],
  [/^(start|guides)\//, 12],
  [/^explanation\//, 8],
  [/^reference\/(glossary|file-formats|sweep-files)/, 6],
  [/^gallery\//, 2],
  [/^erratum\/index/, 4],
  [/^(erratum|benchmarks)\//, -15],
];

var Scorer = { // searchtools.js declares it by var, too
  score: ([docname, title, anchor, description, score]) =>
    score + (PLACES.find(([place]) => place.test(docname)) ?? [null, 0])[1],
  objNameMatch: 60, // who types a name wants its page
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
