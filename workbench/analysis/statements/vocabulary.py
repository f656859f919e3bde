"""The headings, words and labels that are usual in statements: a draft of a layout goes by them."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from workbench.analysis.statements.layouts import heading_key
from workbench.domain.money import ISO_4217

_DEBIT: Final = "debit, dr, debit amount, amount debit, debits, soll, montant debit, debito, debitos"
_CREDIT: Final = "credit, cr, credit amount, amount credit, credits, haben, montant credit, credito, creditos"
_GOES_OUT: Final = (
    "withdrawn, withdrawal, withdrawals, money out, paid out, lastschrift, belastung, ausgaben, saida, saidas"
)
_COMES_IN: Final = "paid in, deposit, deposits, money in, lodgements, gutschrift, einnahmen, entrada, entradas"
HEADINGS: Final[Mapping[str, str]] = {
    "key": "transaction id, transaction ref, transaction reference, receipt no, receipt number, id, txn id, trans id, "
    "financial transaction id, reference number, reference no, reference, cheque ref, ref, ref no, bank reference, "
    "cheque no, cheque number, chq no, chq number, chq ref, trace id, journal no, "
    "referenz, belegnummer, transaktionsnummer, numero de reference, n de piece, n documento, documento",
    "moment": "transaction date, txn date, trans date, completion time, date time, date and time, booked at, "
    "transaction date time, posting date, booking date, date, entry date, transaction time, value date, timestamp, "
    "created at, initiation time, day, "
    "buchungstag, buchungsdatum, datum, date operation, date d operation, date comptable, "
    "data, data movimento, data mov, data lancamento, tarehe, wertstellung, valuta",
    "time": "time, txn time, trans time, transaction time, posting time",
    "direction": "credit debit, debit credit, cr dr, dr cr, d c, c d, direction, dc indicator, indicator, sign",
    "debit": f"{_DEBIT}, {_GOES_OUT}",
    "credit": f"{_CREDIT}, {_COMES_IN}",
    "amount": "amount, transaction amount, gross amount, txn amount, value, "
    "umsatz, montant, valor, montante, quantia, kiasi",
    "fee": "fee, fees, charge, charges, service fee, transaction fee, service charge, transaction charge, commission, "
    "gebuhr, gebuhren, entgelt, frais, taxa, comissao, ada",
    "balance": "balance, running balance, ledger balance, balance after, closing balance, account balance, "
    "book balance, available balance, "
    "saldo, kontostand, solde, saldo contabilistico, saldo disponivel, salio",
    "status": "transaction status, status, state, txn status, result",
    "type": "transaction type, type, reason type, txn type, trans type, category, service type",
    "description": "narrative, narration, description, details, particulars, transaction details, remarks, "
    "transaction description, note message, information, message, note, memo, memo description, text, "
    "verwendungszweck, buchungstext, libelle, descricao, descritivo, historico, maelezo",
    "currency": "currency, ccy, currency code, curr, wahrung, devise, moeda",
    "phone": "customer msisdn, msisdn, phone, phone number, customer phone, mobile, mobile number, other party info, "
    "other party, counterparty, customer",
    "from": "from, sender msisdn, sender, from msisdn, payer, payer msisdn",
    "to": "to, receiver msisdn, receiver, recipient msisdn, recipient, to msisdn, payee, payee msisdn, beneficiary",
    "batch": "batch id, batch no, batch, settlement ref, settlement reference, settlement id",
    "related": "linked transaction id, original id, original transaction id, external transaction id, related ref, "
    "linked receipt no, external id, order id, merchant reference, customer reference, reference",
}
"""Field → the headings under which it is found, the likeliest first; signs and the currency's code are left out."""
LEDGER_HEADINGS: Final[Mapping[str, str]] = {
    "account": "account, account name, account full name, distribution account, ledger account, gl account, nominal, "
    "nominal account, konto, compte, conta",
    "entry": "entry, entry no, entry number, journal entry, je no, trans no, trans",
    **{name: words for name, words in HEADINGS.items() if name != "type"},
    "key": f"num, {HEADINGS['key']}, doc no, document no, voucher no",
    "debit": f"{_CREDIT}, {_GOES_OUT}",
    "credit": f"{_DEBIT}, {_COMES_IN}",
}
"""Field of a statement → the headings in your own books, where money that comes in is a debit."""
HEADING_PARTS: Final = {
    "moment": "date", "balance": "balance", "debit": "debit|withdraw", "credit": "credit|deposit", "amount": "amount",
    "description": "narrat|descr|detail|particular", "key": "ref|receipt|trans.* id|voucher", "fee": "fee|charge",
    "status": "status",
}  # fmt: skip
"""Field → a pattern of its heading, for headings that nothing else explains."""
_SIGNS: Final = re.compile(r"[^a-z0-9]+")
_CODE: Final = re.compile(rf" (?:kwacha|k|{'|'.join(ISO_4217).lower()})$")

_DIRECTION_WORDS: Final = {
    "in": "cr, credit, c, in, deposit, received, incoming, +",
    "out": "dr, debit, d, out, withdrawal, sent, outgoing, -",
}
_STATUS_WORDS: Final = {
    "completed": "successful, success, completed, complete, ts, transaction success, transaction successful, "
    "processed, posted, booked, settled, paid, approved, ok",
    "failed": "failed, failure, tf, transaction failed, rejected, declined, cancelled, canceled, expired, error",
    "pending": "pending, in progress, initiated, processing, awaiting, ongoing, tip, unposted",
}
TYPE_PARTS: Final = (
    ("reversal", "revers"), ("refund", "refund"), ("fee", "fee|charge|commission|levy"),
    ("payout", "payout|disburs|b2c|withdraw|salary|bulk"), ("transfer", "sweep|settle|transfer|organi[sz]ation"),
    ("payment", "pay|collect|purchase|deposit|buy goods|c2b|cash ?in|sale"),
)  # fmt: skip
"""Types, each with a pattern of the words that mean it; the first pattern found counts."""
CHARGE: Final = r"(?i)\b(?:fees?|charges?|commissions?|levy|excise|maintenance)\b"
"""A pattern that is found in the narrative of a bank's own charge."""
INTEREST: Final = r"(?i)\binterest\b"
"""A pattern that is found in the narrative of interest."""
OPENING: Final = re.compile(
    r"\W*(?:(?:opening|closing|brought forward|carried forward|previous|start(?:ing)?|final) bal(?:ance)?"
    r"|(?:bal(?:ance)?\.? *)?(?:[bc]/?f(?:wd)?\b|brought forward|carried forward)"
    r"|saldovortrag|(?:anfangs|end|schlu(?:ss|ß)|alter |neuer )saldo|(?:alter |neuer )kontostand"
    r"|(?:ancien|nouveau) solde|solde (?:initial|final|pr[eé]c[eé]dent|ant[eé]rieur|report[eé])|report (?:à|a) nouveau"
    r"|saldo (?:anterior|inicial|final|atual|actual|transportado|em)|salio (?:anzia|la awali))",
    re.IGNORECASE,
)
"""The beginning of the narrative of a row that only states a balance."""
TOTAL: Final = re.compile(r"\W*(?:sub-?)?(?:grand )?(?:totals?|totaux|totais|summen?|gesamt|jumla)\b", re.IGNORECASE)
_LABELS: Final = {
    "currency": "currency, ccy, account currency",
    "period": "period, time period, statement period, date range, transaction period, report period",
    "first": "period from, from, from date, start date, statement from, date from",
    "last": "period to, to, to date, end date, statement to, date to",
    "number": "account no, account number, account, a c no, acc no, acct no, iban, merchant msisdn, "
    "organization short code, short code, till number, kontonummer, konto, numero de compte, n de compte, compte, "
    "numero da conta, numero de conta, n da conta, no da conta, conta, akaunti",
    "opening": "opening balance, balance brought forward, balance b f",
    "closing": "closing balance, balance carried forward, balance c f",
}


def plain(heading: str) -> str:
    """A heading without signs, accents and the currency's code, as it is looked up."""
    letters = "".join(
        letter for letter in unicodedata.normalize("NFKD", heading_key(heading)) if not unicodedata.combining(letter)
    )
    return _CODE.sub("", _SIGNS.sub(" ", letters).strip())


def _listed(known: Mapping[str, str]) -> dict[str, str]:
    """Turns meaning → its words into word → meaning."""
    return {word: meaning for meaning, words in known.items() for word in words.split(", ")}


DIRECTION_WORDS, STATUS_WORDS, LABELS = map(_listed, (_DIRECTION_WORDS, _STATUS_WORDS, _LABELS))
"""Word → what it means."""
