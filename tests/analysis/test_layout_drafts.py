"""A layout drafted from a file: for the shapes in which operators and banks export, the draft alone reads it."""
# The lines of the files are as long as their operators write them.
# ruff: noqa: E501

MTN = """\
Id,External Transaction Id,Date,Status,Type,Provider Category,Information,Note/Message,From,From Name,From Handler Name,To,To Name,To Handler Name,Initiated By,On Behalf Of,Amount,Currency,Fee,Currency,Discount,Currency,Promotion,Currency,Coupon,Currency,Balance,Currency
18123456701,ord-1,2026-10-01 08:15:02,Successful,Payment,,,"Order 1
two pots",FRI:260961234567/MSISDN,Mary Banda,,FRI:plants.shop/USER,Plants,,260961234567,,150.00,ZMW,2.25,ZMW,,ZMW,,ZMW,,ZMW,1147.75,ZMW
18123456702,ord-2,2026-10-02 09:00:00,Failed,Payment,,TARGET_AUTHORIZATION_ERROR,,FRI:260967654321/MSISDN,John Phiri,,FRI:plants.shop/USER,Plants,,260967654321,,80.00,ZMW,0.00,ZMW,,ZMW,,ZMW,,ZMW,1147.75,ZMW
18123456703,ord-3,2026-10-13 10:30:00,Successful,Transfer,,,Refund order 1,FRI:plants.shop/USER,Plants,,FRI:260961234567/MSISDN,Mary Banda,,plants,,50.00,ZMW,1.00,ZMW,,ZMW,,ZMW,,ZMW,1096.75,ZMW
18123456704,ord-4,2026-10-14 11:45:10,Successful,Payment,,,Order 4,FRI:260761112223/MSISDN,Ruth Zulu,,FRI:plants.shop/USER,Plants,,260761112223,,200.00,ZMW,3.00,ZMW,,ZMW,,ZMW,,ZMW,1293.75,ZMW
"""
M_PESA = """\
Organization Name,Plants Limited,,,,,,,,,,,
Time Period,From 01-10-2026 To 31-10-2026,,,,,,,,,,,
,,,,,,,,,,,,
Receipt No.,Completion Time,Initiation Time,Details,Transaction Status,Paid In,Withdrawn,Balance,Balance Confirmed,Reason Type,Other Party Info,Linked Transaction ID,A/C No.
SJ15QWER71,14-10-2026 16:20:11,14-10-2026 16:20:05,Pay Bill from 2547****0111 - JANE Acc. order4,Completed,"1,500.00",,"11,350.00",true,Pay Bill Online,2547****0111 - JANE,,order4
SJ15QWER70,13-10-2026 11:05:00,13-10-2026 11:05:00,Organization settlement,Completed,,"-5,000.00","9,850.00",true,Organization Settlement,888555 - Bank,,
SJ05QWER69,02-10-2026 09:10:00,02-10-2026 09:09:58,Pay Bill Charge,Completed,,-150.00,"14,850.00",true,Pay Bill Charge,2547****0222 - ALI,SJ05QWER68,
SJ05QWER68,02-10-2026 09:10:00,02-10-2026 09:09:58,Pay Bill from 2547****0222 - ALI Acc. order2,Completed,"15,000.00",,"15,000.00",true,Pay Bill Online,2547****0222 - ALI,,order2
,,,,,,,,,,,,
Totals,,,,,"16,500.00","-5,150.00",,,,,,
"""
AIRTEL = """\
Airtel Money Merchant Statement
Merchant Name:,Café Plants
MSISDN:,260971234567
Period:,01/10/2026 - 31/10/2026
Opening Balance:,"10,000.00"

S/N,Transaction ID,Date & Time,Transaction Type,Sender MSISDN,Receiver MSISDN,Reference,Status,Dr,Cr,Charges,Balance,
1,MP261001.0815.A00001,01/10/2026 08:15:02,Merchant Payment,260977000111,260971234567,ord-1,TS,,"1,500.00",15.00,"11,485.00",
2,MP261002.0900.A00002,02/10/2026 09:00:00,Merchant Payment,0977000222,0971234567,ord-2,TF,,80.00,0.00,"11,485.00",
3,MP261013.1030.A00003,13/10/2026 10:30:00,Refund,971234567,977000111,ord-1,TS,500.00,,5.00,"10,980.00",
4,MP261014.1145.A00004,14/10/2026 11:45:10,Merchant Payment,260 97 700 0333,260971234567,ord-4,TS,,200.00,2.00,"11,178.00",
Total,,,,,,,,580.00,"1,780.00",22.00,,
"""
ZANACO = """\
Account Number:,0123456789101
Account Name:,PLANTS LIMITED
Currency:,ZMW
From 01 OCT 2026 To 31 OCT 2026

Txn Date,Value Date,Narrative,Cheque/Ref,Debit,Credit,Balance
31 OCT 2026,31 OCT 2026,MONTHLY CHARGE,,75.00,,"14,025.00 CR"
14 OCT 2026,14 OCT 2026,"MTN MOMO SETTLEMENT
SW2610130001 PLANTS LIMITED",FT26287001,,"4,000.00","14,100.00 CR"
13 OCT 2026,13 OCT 2026,CHEQUE 000123 RENT,000123,"12,000.00",,"10,100.00 CR"
02 OCT 2026,02 OCT 2026,"AIRTEL SWEEP
SW2610010002 PLANTS LIMITED",FT26275002,,"2,100.00","22,100.00 CR"
01 OCT 2026,01 OCT 2026,BALANCE B/F,,,,"20,000.00 CR"
"""
STANBIC = """\
Value Date;Narrative;Reference;Debit;Credit;Running Balance
01.10.2026;Opening balance;;;;20 000,00
02.10.2026;AIRTEL SWEEP SW2610010002;FT26275002;;2 100,00;22 100,00
13.10.2026;RENT OCTOBER;CHQ000123;-12 000,00;;10 100,00
14.10.2026;MTN MOMO SETTLEMENT SW2610130001;FT26287001;;4 000,50;14 100,50
15.10.2026;RENT OCTOBER REVERSED;CHQ000123R;(1 200,00);;15 300,50
31.10.2026;MONTHLY CHARGE;CHG202610;-75,00;;15 225,50
"""
FNB = """\
Date,Description,Reference,Service Fee,Amount,Balance
02/10/2026,AIRTEL SWEEP,FT26275002,0.00,"2,100.00Cr","22,100.00Cr"
13/10/2026,RENT OCTOBER,CHQ000123,5.00,"12,000.00Dr","10,095.00Cr"
14/10/2026,MTN MOMO SETTLEMENT,FT26287001,0.00,"4,000.50Cr","14,095.50Cr"
31/10/2026,MONTHLY CHARGE,CHG202610,0.00,75.00Dr,"14,020.50Cr"
"""
SHAPES = {"mtn": MTN, "m_pesa": M_PESA, "airtel": AIRTEL, "zanaco": ZANACO, "stanbic": STANBIC, "fnb": FNB}
