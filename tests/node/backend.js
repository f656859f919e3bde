// A merchant's webhook endpoint in Node: the raw bytes are verified before anything parses them.
// The signing secret comes on standard input, a line that is confirmed; the port and every request
// are told on standard output, one JSON object a line.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

let webhook;
const tell = (told) => process.stdout.write(`${JSON.stringify(told)}\n`);

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const told = { id: request.headers["webhook-id"] };
  try {
    const event = webhook.verify(Buffer.concat(chunks), request.headers);
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
  .on("line", (secret) => {
    webhook = new Webhook(secret);
    tell({ ready: true });
  })
  .on("close", () => process.exit(0));

server.listen(0, "127.0.0.1", () => tell({ port: server.address().port }));
