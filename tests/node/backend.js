// A merchant's webhook endpoint in Node: the raw bytes are verified before anything parses them.
// Secrets come on standard input, one JSON object of path → secret a line, each line confirmed;
// every request is told on standard output, one JSON object a line.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

const webhooks = new Map();
const tell = (told) => process.stdout.write(`${JSON.stringify(told)}\n`);

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const raw = Buffer.concat(chunks);
  const told = { id: request.headers["webhook-id"] };
  try {
    const event = webhooks.get(request.url).verify(raw, request.headers);
    told.status = 200;
    told.event = { id: event.id, type: event.type };
  } catch (error) {
    told.status = 400;
    told.reason = error.message;
  }
  response.writeHead(told.status).end();
  tell(told);
});

createInterface({ input: process.stdin })
  .on("line", (line) => {
    for (const [path, secret] of Object.entries(JSON.parse(line))) webhooks.set(path, new Webhook(secret));
    tell({ known: [...webhooks.keys()] });
  })
  .on("close", () => process.exit(0));

server.listen(0, "127.0.0.1", () => tell({ port: server.address().port }));
