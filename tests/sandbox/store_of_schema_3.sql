BEGIN TRANSACTION;
CREATE TABLE account (id TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT;
INSERT INTO "account" VALUES('plants','PLANT STORE');
CREATE TABLE api_key (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, digest TEXT NOT NULL UNIQUE,
    account TEXT NOT NULL REFERENCES account (id), kind TEXT NOT NULL, status TEXT NOT NULL, masked TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;
INSERT INTO "api_key" VALUES('key_5H725JODXJrTg0UJvFFzgpSM',1,'617dfa5116ffd9efcef4bc5bd698d904fb1c959012533a0976ca264c282577cd','plants','secret','active','sk_test_••••fA8V',1767592800000);
INSERT INTO "api_key" VALUES('key_UK4vZVYlxuRaUSNZPeB2szLe',2,'bf9c14b5801e69311d7e00a323fa4e7081bec21f908cda67925eddfa3aaa998f','plants','publishable','active','pk_test_••••In0L',1767592800000);
CREATE TABLE attempt (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, delivery TEXT NOT NULL REFERENCES delivery (id),
    number INTEGER NOT NULL, at_ms INTEGER NOT NULL, latency_ms INTEGER NOT NULL,
    status_code INTEGER, answer TEXT NOT NULL, fault TEXT, headers TEXT NOT NULL
) STRICT;
CREATE TABLE call (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, at_ms INTEGER NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL,
    payment TEXT, request_headers TEXT NOT NULL, request_body TEXT NOT NULL, status INTEGER NOT NULL,
    response_headers TEXT NOT NULL, response_body TEXT NOT NULL
) STRICT;
CREATE TABLE charge (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, account TEXT NOT NULL REFERENCES account (id),
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0), currency TEXT NOT NULL, channel TEXT NOT NULL,
    provider TEXT NOT NULL, phone TEXT NOT NULL, status TEXT NOT NULL, reference TEXT,
    payment_intent TEXT REFERENCES payment_intent (id), failure_code TEXT,
    refunded_minor INTEGER NOT NULL CHECK (refunded_minor BETWEEN 0 AND amount_minor), metadata TEXT NOT NULL,
    warnings TEXT NOT NULL, created_ms INTEGER NOT NULL
) STRICT;
INSERT INTO "charge" VALUES('ch_KYesqhHCFejMKJgEzQXVWRX8',13,'plants',10000,'ZMW','mtn','mtn','+260961111111','succeeded',NULL,'pi_4gzYtOdZGxNTp3BYLbz5arAf',NULL,3000,'{}','[]',1767592800000);
INSERT INTO "charge" VALUES('ch_UJlG0WcjlAzNXPafZ2NYYrF6',47,'plants',7500,'ZMW','airtel','airtel','+260971111112','succeeded',NULL,'pi_o2DGKRTJqvQi6nail4THFcfI',NULL,0,'{}','[]',1767592800000);
INSERT INTO "charge" VALUES('ch_KYJckLc2FlbNXXE4jNA5ZYCj',80,'plants',2000,'ZMW','mtn','mtn','+260961111113','failed',NULL,'pi_Wed6CoVoSlRN8tgSYCPN7z9U','prompt_timeout',0,'{}','[]',1767592800000);
INSERT INTO "charge" VALUES('ch_21RnQhQJQvjZpQuHRYbo1YZn',112,'plants',25000,'ZMW','mtn','mtn','+260961111114','succeeded',NULL,'pi_JhXf6YfMpPv8VBsLP80kTh9W',NULL,0,'{}','[]',1767679200000);
INSERT INTO "charge" VALUES('ch_nbJDJXLWrMBPaQyhooYybE8X',167,'plants',6000,'ZMW','mtn','mtn','+260961111115','succeeded',NULL,'pi_k6xGIBlg2uZrshmupcwUq6Jh',NULL,0,'{}','[]',1767776400000);
INSERT INTO "charge" VALUES('ch_zI6xvjMplORkQtvt1dtolODe',216,'plants',1000,'ZMW','mtn','mtn','+260961111116','pending',NULL,'pi_deOGcv7M8dbxp21kchOkzTP5',NULL,0,'{}','[]',1767862800000);
CREATE TABLE clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    mode TEXT NOT NULL CHECK (mode IN ('manual', 'running')),
    manual_ms INTEGER NOT NULL,   -- the moment, when manual
    offset_ms INTEGER NOT NULL    -- added to the wall clock, when running
) STRICT;
INSERT INTO "clock" VALUES(1,'manual',1767862800000,270000000);
CREATE TABLE counter (kind TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
INSERT INTO "counter" VALUES('key',2);
INSERT INTO "counter" VALUES('seq',225);
INSERT INTO "counter" VALUES('req',21);
INSERT INTO "counter" VALUES('we',1);
INSERT INTO "counter" VALUES('ctl',46);
INSERT INTO "counter" VALUES('pi',6);
INSERT INTO "counter" VALUES('evt',31);
INSERT INTO "counter" VALUES('del',31);
INSERT INTO "counter" VALUES('att',31);
INSERT INTO "counter" VALUES('ch',6);
INSERT INTO "counter" VALUES('ussd',6);
INSERT INTO "counter" VALUES('je',18);
INSERT INTO "counter" VALUES('re',1);
INSERT INTO "counter" VALUES('po',1);
CREATE TABLE delivery (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, account TEXT NOT NULL REFERENCES account (id),
    event TEXT NOT NULL REFERENCES event (id), endpoint TEXT NOT NULL REFERENCES webhook_endpoint (id),
    status TEXT NOT NULL, attempts INTEGER NOT NULL, spent INTEGER NOT NULL, created_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE entry (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, number INTEGER NOT NULL UNIQUE, kind TEXT NOT NULL,
    description TEXT NOT NULL, payment TEXT, reverses TEXT UNIQUE REFERENCES entry (id),
    occurred_ms INTEGER NOT NULL, recorded_ms INTEGER NOT NULL, prev_hash TEXT NOT NULL, external_reference TEXT,
    settles TEXT REFERENCES entry (id), hash TEXT NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
INSERT INTO "entry" VALUES('je_2Mhuk5yPEWmo9Lr1KpemgeHp',139,7,'refund_asked','ZMW 30.00 to be refunded','pi_4gzYtOdZGxNTp3BYLbz5arAf',NULL,1767679200000,1767679200000,'e8a7bc5ba06acbf690d25ffddd23cab1fa98239832e88edf32cfbbb8cb7a4733',NULL,NULL,'5e463c502c98fc6825caa3c0a69f4cf566b3de6d579eada4fd10f110bb0ef1ed');
INSERT INTO "entry" VALUES('je_AE9YK0SX0oKHw8pamCvhHyaz',62,2,'funds_secured','ZMW 75.00 received through airtel','pi_o2DGKRTJqvQi6nail4THFcfI',NULL,1767592800000,1767592800000,'9339b24750f8ebf13a537a046708c648797dc922cf5fda4b9d56529af29dd47b','MP260105.0800.00000047',NULL,'978c0774d603e410f1adaf1dfb55c1c943d0cc52fb44ff839e5a738bc0e936ce');
INSERT INTO "entry" VALUES('je_CRtj87jgnJjFCaAvrE0h3CH4',195,14,'payout_asked','ZMW 40.00 to be paid out','po_1wA6Nkba7p9ncMyDf0xbMxiG',NULL,1767776400000,1767776400000,'da3434145172a17b05da5cb27ce750c2c5c1715da750f1e4e4805b75268ec90c',NULL,NULL,'6cc75a724acba4ec486c56bbf37610bbfd4443f07c2f7dc7247abfc2ad607a72');
INSERT INTO "entry" VALUES('je_O5TjiX0HP6SRdBojYetb3B14',146,8,'refund_sent','ZMW 30.00 sent back to the customer','pi_4gzYtOdZGxNTp3BYLbz5arAf',NULL,1767679205000,1767679205000,'5e463c502c98fc6825caa3c0a69f4cf566b3de6d579eada4fd10f110bb0ef1ed','4000000140',NULL,'e2e02dd1a9e6437336eaa30957c486a123c641006440ad733479e58d20a41288');
INSERT INTO "entry" VALUES('je_Oa7vxeluDxvfXRndjw5ATprK',202,17,'swept','ZMW 59.40 swept from mtn to the bank',NULL,NULL,1767823200000,1767823200000,'346803709a2129c22eec58b12f2537850b32702b7b9f0d99a44dc39b0663828b','SWP20260108-MTN',NULL,'eeee9a72a8c6e36443daee6e93417bea48330e5deec340eab46e6ef67feb9c4b');
INSERT INTO "entry" VALUES('je_THiFKXP0rTlTfY5dBtwmo6FR',157,11,'cleared','ZMW 243.75 cleared',NULL,NULL,1767736800000,1767736800000,'bb37338130d865ba688a83658937e21cef25e51095f0979811a541bea1b66a18',NULL,NULL,'b5dc59f3f5d8dda96f3719b1d3a8e977572f258ddadff6e104dc875b44d889af');
INSERT INTO "entry" VALUES('je_V0xQdfqRBdosLpKzhU8R0E6O',200,15,'sweep_credited','ZMW 217.50 credited by the bank from mtn',NULL,NULL,1767823200000,1767823200000,'6cc75a724acba4ec486c56bbf37610bbfd4443f07c2f7dc7247abfc2ad607a72','STL20260108',NULL,'81af1b018b4ff98db4677e3dfd5d2b98e7833358800bed34f4ab2ecfb18c1152');
INSERT INTO "entry" VALUES('je_V6QkSNj1CDlVr5hRC0zRclzL',156,10,'sweep_credited','ZMW 74.25 credited by the bank from airtel',NULL,NULL,1767736800000,1767736800000,'8cc82c8bdeefdadad974ec964765058cd9fa0a0926ebe524eddf860681e89013','STL20260107',NULL,'bb37338130d865ba688a83658937e21cef25e51095f0979811a541bea1b66a18');
INSERT INTO "entry" VALUES('je_ZJDsHz4vSoH15KcGhZwCvCSJ',127,6,'funds_secured','ZMW 250.00 received through mtn','pi_JhXf6YfMpPv8VBsLP80kTh9W',NULL,1767679200000,1767679200000,'426ff2661e065524251181a9bb76370efb671464bd4bb6be28aafdc0e6ed5734','4000000112',NULL,'e8a7bc5ba06acbf690d25ffddd23cab1fa98239832e88edf32cfbbb8cb7a4733');
INSERT INTO "entry" VALUES('je_aCtEKkNm1aJicFh2WvfgWPL7',155,9,'sweep_credited','ZMW 99.00 credited by the bank from mtn',NULL,NULL,1767736800000,1767736800000,'e2e02dd1a9e6437336eaa30957c486a123c641006440ad733479e58d20a41288','STL20260107',NULL,'8cc82c8bdeefdadad974ec964765058cd9fa0a0926ebe524eddf860681e89013');
INSERT INTO "entry" VALUES('je_chTBygc9gnQQNCWpgCXifSlw',101,3,'cleared','ZMW 170.62 cleared',NULL,NULL,1767650400000,1767650400000,'978c0774d603e410f1adaf1dfb55c1c943d0cc52fb44ff839e5a738bc0e936ce',NULL,NULL,'e3c9d04043ef0ded7f65dc4dacc3766339e814ca279886d3c672fc7895fd06ac');
INSERT INTO "entry" VALUES('je_eMGKTb0uYKP4KH9UO8wZ5ypS',182,13,'funds_secured','ZMW 60.00 received through mtn','pi_k6xGIBlg2uZrshmupcwUq6Jh',NULL,1767776400000,1767776400000,'0d9069bc1cf283c6948c56a1549e92c484a37392c16ef61b2a3bdc202132597d','4000000167',NULL,'da3434145172a17b05da5cb27ce750c2c5c1715da750f1e4e4805b75268ec90c');
INSERT INTO "entry" VALUES('je_esXD1Qhh9KmAQmEz59ozbggJ',102,4,'swept','ZMW 99.00 swept from mtn to the bank',NULL,NULL,1767650400000,1767650400000,'e3c9d04043ef0ded7f65dc4dacc3766339e814ca279886d3c672fc7895fd06ac','SWP20260106-MTN',NULL,'a8a124f3ba06e0eb09ad8060523d467f438aca95dd29b66f92c9602b70d4fc1b');
INSERT INTO "entry" VALUES('je_icVA7H3Nv8Zgad1FIG6YdQXI',158,12,'swept','ZMW 217.50 swept from mtn to the bank',NULL,NULL,1767736800000,1767736800000,'b5dc59f3f5d8dda96f3719b1d3a8e977572f258ddadff6e104dc875b44d889af','SWP20260107-MTN',NULL,'0d9069bc1cf283c6948c56a1549e92c484a37392c16ef61b2a3bdc202132597d');
INSERT INTO "entry" VALUES('je_miR2brYoLm6XKUYy0xTf00Vk',201,16,'cleared','ZMW 58.50 cleared',NULL,NULL,1767823200000,1767823200000,'81af1b018b4ff98db4677e3dfd5d2b98e7833358800bed34f4ab2ecfb18c1152',NULL,NULL,'346803709a2129c22eec58b12f2537850b32702b7b9f0d99a44dc39b0663828b');
INSERT INTO "entry" VALUES('je_nBRYVVDUQUrkQEyuSZChk0y2',203,18,'payout_paid','ZMW 40.00 paid out','po_1wA6Nkba7p9ncMyDf0xbMxiG',NULL,1767823200000,1767823200000,'eeee9a72a8c6e36443daee6e93417bea48330e5deec340eab46e6ef67feb9c4b','po_1wA6Nkba7p9ncMyDf0xbMxiG',NULL,'5f98219c9fe3c24547f3e0de167e3928f7f8b4d3f9794b6b1eaea1ce06fbf897');
INSERT INTO "entry" VALUES('je_pKtGlHwJj91zIuxNpJkV9XWh',28,1,'funds_secured','ZMW 100.00 received through mtn','pi_4gzYtOdZGxNTp3BYLbz5arAf',NULL,1767592800000,1767592800000,'0000000000000000000000000000000000000000000000000000000000000000','4000000013',NULL,'9339b24750f8ebf13a537a046708c648797dc922cf5fda4b9d56529af29dd47b');
INSERT INTO "entry" VALUES('je_umXo8hKxAHgL0e2dpLysDUWh',103,5,'swept','ZMW 74.25 swept from airtel to the bank',NULL,NULL,1767650400000,1767650400000,'a8a124f3ba06e0eb09ad8060523d467f438aca95dd29b66f92c9602b70d4fc1b','SWP20260106-AIRTEL',NULL,'426ff2661e065524251181a9bb76370efb671464bd4bb6be28aafdc0e6ed5734');
CREATE TABLE event (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, account TEXT NOT NULL REFERENCES account (id),
    type TEXT NOT NULL, object_id TEXT NOT NULL, body TEXT NOT NULL, created_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE hold (
    seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, charge TEXT NOT NULL REFERENCES charge (id),
    change TEXT NOT NULL CHECK (change IN ('opened', 'ended')), amount_minor INTEGER NOT NULL,
    UNIQUE (charge, change)
) STRICT;
INSERT INTO "hold" VALUES(14,1767592800000,'ch_KYesqhHCFejMKJgEzQXVWRX8','opened',10000);
INSERT INTO "hold" VALUES(27,1767592800000,'ch_KYesqhHCFejMKJgEzQXVWRX8','ended',10000);
INSERT INTO "hold" VALUES(48,1767592800000,'ch_UJlG0WcjlAzNXPafZ2NYYrF6','opened',7500);
INSERT INTO "hold" VALUES(61,1767592800000,'ch_UJlG0WcjlAzNXPafZ2NYYrF6','ended',7500);
INSERT INTO "hold" VALUES(81,1767592800000,'ch_KYJckLc2FlbNXXE4jNA5ZYCj','opened',2000);
INSERT INTO "hold" VALUES(92,1767593100000,'ch_KYJckLc2FlbNXXE4jNA5ZYCj','ended',2000);
INSERT INTO "hold" VALUES(113,1767679200000,'ch_21RnQhQJQvjZpQuHRYbo1YZn','opened',25000);
INSERT INTO "hold" VALUES(126,1767679200000,'ch_21RnQhQJQvjZpQuHRYbo1YZn','ended',25000);
INSERT INTO "hold" VALUES(168,1767776400000,'ch_nbJDJXLWrMBPaQyhooYybE8X','opened',6000);
INSERT INTO "hold" VALUES(181,1767776400000,'ch_nbJDJXLWrMBPaQyhooYybE8X','ended',6000);
INSERT INTO "hold" VALUES(217,1767862800000,'ch_zI6xvjMplORkQtvt1dtolODe','opened',1000);
CREATE TABLE job (
    seq INTEGER PRIMARY KEY, due_ms INTEGER NOT NULL, kind TEXT NOT NULL, ref TEXT NOT NULL,
    claimed INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO "job" VALUES(207,1767909600000,'night','night',0);
INSERT INTO "job" VALUES(220,1767863100000,'prompt_timeout','ussd_GN1bwQ5sxck5n2w33iJj9oSZ',0);
CREATE TABLE kept_answer (
    scope TEXT PRIMARY KEY, body_digest TEXT NOT NULL, status INTEGER NOT NULL, content_type TEXT NOT NULL,
    body TEXT NOT NULL, payment TEXT, at_ms INTEGER NOT NULL
) STRICT;
INSERT INTO "kept_answer" VALUES('plants
secret
POST
/v1/payment_intents
order-1','94abd642b5ca65a4bd4117c0290cc552b2d23747dbaa85ae9ff7661d20a64e56',200,'application/json','{"id": "pi_4gzYtOdZGxNTp3BYLbz5arAf", "client_secret": "pi_4gzYtOdZGxNTp3BYLbz5arAf_hidden", "object": "payment_intent", "amount": 100.0, "currency": "ZMW", "status": "requires_payment_method", "description": null, "payment_method_types": ["mobile_money"], "payment_method": null, "next_action": null, "last_payment_error": null, "latest_charge": null, "metadata": {}, "warnings": [], "canceled_at": null, "cancellation_reason": null, "created": 1767592800, "livemode": false}','pi_4gzYtOdZGxNTp3BYLbz5arAf',1767592800000);
INSERT INTO "kept_answer" VALUES('plants
secret
POST
/v1/payment_intents
order-2','695d5ad22f2c9b75b50e093fb168b5a6183508d0ba1545e50d6eeb759c672116',200,'application/json','{"id": "pi_o2DGKRTJqvQi6nail4THFcfI", "client_secret": "pi_o2DGKRTJqvQi6nail4THFcfI_hidden", "object": "payment_intent", "amount": 75.0, "currency": "ZMW", "status": "requires_payment_method", "description": null, "payment_method_types": ["mobile_money"], "payment_method": null, "next_action": null, "last_payment_error": null, "latest_charge": null, "metadata": {}, "warnings": [], "canceled_at": null, "cancellation_reason": null, "created": 1767592800, "livemode": false}','pi_o2DGKRTJqvQi6nail4THFcfI',1767592800000);
INSERT INTO "kept_answer" VALUES('plants
secret
POST
/v1/payment_intents
order-3','cca57bd1c834213be523c41964cc232a47170f378151c079b100336cfb320f99',200,'application/json','{"id": "pi_Wed6CoVoSlRN8tgSYCPN7z9U", "client_secret": "pi_Wed6CoVoSlRN8tgSYCPN7z9U_hidden", "object": "payment_intent", "amount": 20.0, "currency": "ZMW", "status": "requires_payment_method", "description": null, "payment_method_types": ["mobile_money"], "payment_method": null, "next_action": null, "last_payment_error": null, "latest_charge": null, "metadata": {}, "warnings": [], "canceled_at": null, "cancellation_reason": null, "created": 1767592800, "livemode": false}','pi_Wed6CoVoSlRN8tgSYCPN7z9U',1767592800000);
INSERT INTO "kept_answer" VALUES('plants
secret
POST
/v1/payment_intents
order-4','85b398c41be8a26f3bc7f4fa28e1372c0bc35c599d9bf84b70a365a0c7617f9c',200,'application/json','{"id": "pi_JhXf6YfMpPv8VBsLP80kTh9W", "client_secret": "pi_JhXf6YfMpPv8VBsLP80kTh9W_hidden", "object": "payment_intent", "amount": 250.0, "currency": "ZMW", "status": "requires_payment_method", "description": null, "payment_method_types": ["mobile_money"], "payment_method": null, "next_action": null, "last_payment_error": null, "latest_charge": null, "metadata": {}, "warnings": [], "canceled_at": null, "cancellation_reason": null, "created": 1767679200, "livemode": false}','pi_JhXf6YfMpPv8VBsLP80kTh9W',1767679200000);
INSERT INTO "kept_answer" VALUES('plants
secret
POST
/v1/payment_intents
order-5','6987190bb425e168d815a5f8f496eb7d6060a3a26ac013b48f495d254be3d114',200,'application/json','{"id": "pi_k6xGIBlg2uZrshmupcwUq6Jh", "client_secret": "pi_k6xGIBlg2uZrshmupcwUq6Jh_hidden", "object": "payment_intent", "amount": 60.0, "currency": "ZMW", "status": "requires_payment_method", "description": null, "payment_method_types": ["mobile_money"], "payment_method": null, "next_action": null, "last_payment_error": null, "latest_charge": null, "metadata": {}, "warnings": [], "canceled_at": null, "cancellation_reason": null, "created": 1767776400, "livemode": false}','pi_k6xGIBlg2uZrshmupcwUq6Jh',1767776400000);
INSERT INTO "kept_answer" VALUES('plants
secret
POST
/v1/payment_intents
order-6','0e4d2535cef451e9a8c53ccaf10ff054102d603179cae97b9e79ed5b49682669',200,'application/json','{"id": "pi_deOGcv7M8dbxp21kchOkzTP5", "client_secret": "pi_deOGcv7M8dbxp21kchOkzTP5_hidden", "object": "payment_intent", "amount": 10.0, "currency": "ZMW", "status": "requires_payment_method", "description": null, "payment_method_types": ["mobile_money"], "payment_method": null, "next_action": null, "last_payment_error": null, "latest_charge": null, "metadata": {}, "warnings": [], "canceled_at": null, "cancellation_reason": null, "created": 1767862800, "livemode": false}','pi_deOGcv7M8dbxp21kchOkzTP5',1767862800000);
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
INSERT INTO "meta" VALUES('seed','3');
INSERT INTO "meta" VALUES('start_ms','1767592800000');
CREATE TABLE outage (provider TEXT PRIMARY KEY, until_ms INTEGER NOT NULL) STRICT;
CREATE TABLE payment_intent (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, account TEXT NOT NULL REFERENCES account (id),
    client_secret TEXT NOT NULL, amount_minor INTEGER NOT NULL CHECK (amount_minor > 0), currency TEXT NOT NULL,
    status TEXT NOT NULL, description TEXT, payment_method_types TEXT NOT NULL, phone TEXT, provider TEXT,
    latest_charge TEXT, failure_code TEXT, cancellation_reason TEXT, canceled_ms INTEGER, metadata TEXT NOT NULL, warnings TEXT NOT NULL, created_ms INTEGER NOT NULL
) STRICT;
INSERT INTO "payment_intent" VALUES('pi_4gzYtOdZGxNTp3BYLbz5arAf',7,'plants','pi_4gzYtOdZGxNTp3BYLbz5arAf_hidden',10000,'ZMW','succeeded',NULL,'["mobile_money"]','+260961111111','mtn','ch_KYesqhHCFejMKJgEzQXVWRX8',NULL,NULL,NULL,'{}','[]',1767592800000);
INSERT INTO "payment_intent" VALUES('pi_o2DGKRTJqvQi6nail4THFcfI',41,'plants','pi_o2DGKRTJqvQi6nail4THFcfI_hidden',7500,'ZMW','succeeded',NULL,'["mobile_money"]','+260971111112','airtel','ch_UJlG0WcjlAzNXPafZ2NYYrF6',NULL,NULL,NULL,'{}','[]',1767592800000);
INSERT INTO "payment_intent" VALUES('pi_Wed6CoVoSlRN8tgSYCPN7z9U',74,'plants','pi_Wed6CoVoSlRN8tgSYCPN7z9U_hidden',2000,'ZMW','requires_payment_method',NULL,'["mobile_money"]','+260961111113','mtn','ch_KYJckLc2FlbNXXE4jNA5ZYCj','prompt_timeout',NULL,NULL,'{}','[]',1767592800000);
INSERT INTO "payment_intent" VALUES('pi_JhXf6YfMpPv8VBsLP80kTh9W',106,'plants','pi_JhXf6YfMpPv8VBsLP80kTh9W_hidden',25000,'ZMW','succeeded',NULL,'["mobile_money"]','+260961111114','mtn','ch_21RnQhQJQvjZpQuHRYbo1YZn',NULL,NULL,NULL,'{}','[]',1767679200000);
INSERT INTO "payment_intent" VALUES('pi_k6xGIBlg2uZrshmupcwUq6Jh',161,'plants','pi_k6xGIBlg2uZrshmupcwUq6Jh_hidden',6000,'ZMW','succeeded',NULL,'["mobile_money"]','+260961111115','mtn','ch_nbJDJXLWrMBPaQyhooYybE8X',NULL,NULL,NULL,'{}','[]',1767776400000);
INSERT INTO "payment_intent" VALUES('pi_deOGcv7M8dbxp21kchOkzTP5',210,'plants','pi_deOGcv7M8dbxp21kchOkzTP5_hidden',1000,'ZMW','requires_action',NULL,'["mobile_money"]','+260961111116','mtn','ch_zI6xvjMplORkQtvt1dtolODe',NULL,NULL,NULL,'{}','[]',1767862800000);
CREATE TABLE payout (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, account TEXT NOT NULL REFERENCES account (id),
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0), currency TEXT NOT NULL, status TEXT NOT NULL,
    destination TEXT, scenario TEXT, failure_code TEXT, metadata TEXT NOT NULL, created_ms INTEGER NOT NULL
) STRICT;
INSERT INTO "payout" VALUES('po_1wA6Nkba7p9ncMyDf0xbMxiG',194,'plants',4000,'ZMW','paid',NULL,NULL,NULL,'{}',1767776400000);
CREATE TABLE posting (
    entry TEXT NOT NULL REFERENCES entry (id) DEFERRABLE INITIALLY DEFERRED, line INTEGER NOT NULL,
    account TEXT NOT NULL, code INTEGER NOT NULL, side TEXT NOT NULL CHECK (side IN ('debit', 'credit')),
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0), currency TEXT NOT NULL,
    PRIMARY KEY (entry, line)
) STRICT, WITHOUT ROWID;
INSERT INTO "posting" VALUES('je_2Mhuk5yPEWmo9Lr1KpemgeHp',1,'merchant:plants:available',2010,'debit',3000,'ZMW');
INSERT INTO "posting" VALUES('je_2Mhuk5yPEWmo9Lr1KpemgeHp',2,'customer:refund_pending',2100,'credit',3000,'ZMW');
INSERT INTO "posting" VALUES('je_AE9YK0SX0oKHw8pamCvhHyaz',1,'operator:airtel:float',1100,'debit',7500,'ZMW');
INSERT INTO "posting" VALUES('je_AE9YK0SX0oKHw8pamCvhHyaz',2,'expense:operator_fee:airtel',5000,'debit',75,'ZMW');
INSERT INTO "posting" VALUES('je_AE9YK0SX0oKHw8pamCvhHyaz',3,'merchant:plants:pending',2000,'credit',7312,'ZMW');
INSERT INTO "posting" VALUES('je_AE9YK0SX0oKHw8pamCvhHyaz',4,'income:merchant_fee',4000,'credit',188,'ZMW');
INSERT INTO "posting" VALUES('je_AE9YK0SX0oKHw8pamCvhHyaz',5,'operator:airtel:float',1100,'credit',75,'ZMW');
INSERT INTO "posting" VALUES('je_CRtj87jgnJjFCaAvrE0h3CH4',1,'merchant:plants:available',2010,'debit',4000,'ZMW');
INSERT INTO "posting" VALUES('je_CRtj87jgnJjFCaAvrE0h3CH4',2,'merchant:plants:payout',2020,'credit',4000,'ZMW');
INSERT INTO "posting" VALUES('je_O5TjiX0HP6SRdBojYetb3B14',1,'customer:refund_pending',2100,'debit',3000,'ZMW');
INSERT INTO "posting" VALUES('je_O5TjiX0HP6SRdBojYetb3B14',2,'operator:mtn:float',1100,'credit',3000,'ZMW');
INSERT INTO "posting" VALUES('je_Oa7vxeluDxvfXRndjw5ATprK',1,'operator:mtn:in_transit',1200,'debit',5940,'ZMW');
INSERT INTO "posting" VALUES('je_Oa7vxeluDxvfXRndjw5ATprK',2,'operator:mtn:float',1100,'credit',5940,'ZMW');
INSERT INTO "posting" VALUES('je_THiFKXP0rTlTfY5dBtwmo6FR',1,'merchant:plants:pending',2000,'debit',24375,'ZMW');
INSERT INTO "posting" VALUES('je_THiFKXP0rTlTfY5dBtwmo6FR',2,'merchant:plants:available',2010,'credit',24375,'ZMW');
INSERT INTO "posting" VALUES('je_V0xQdfqRBdosLpKzhU8R0E6O',1,'bank:settlement',1010,'debit',21750,'ZMW');
INSERT INTO "posting" VALUES('je_V0xQdfqRBdosLpKzhU8R0E6O',2,'operator:mtn:in_transit',1200,'credit',21750,'ZMW');
INSERT INTO "posting" VALUES('je_V6QkSNj1CDlVr5hRC0zRclzL',1,'bank:settlement',1010,'debit',7425,'ZMW');
INSERT INTO "posting" VALUES('je_V6QkSNj1CDlVr5hRC0zRclzL',2,'operator:airtel:in_transit',1200,'credit',7425,'ZMW');
INSERT INTO "posting" VALUES('je_ZJDsHz4vSoH15KcGhZwCvCSJ',1,'operator:mtn:float',1100,'debit',25000,'ZMW');
INSERT INTO "posting" VALUES('je_ZJDsHz4vSoH15KcGhZwCvCSJ',2,'expense:operator_fee:mtn',5000,'debit',250,'ZMW');
INSERT INTO "posting" VALUES('je_ZJDsHz4vSoH15KcGhZwCvCSJ',3,'merchant:plants:pending',2000,'credit',24375,'ZMW');
INSERT INTO "posting" VALUES('je_ZJDsHz4vSoH15KcGhZwCvCSJ',4,'income:merchant_fee',4000,'credit',625,'ZMW');
INSERT INTO "posting" VALUES('je_ZJDsHz4vSoH15KcGhZwCvCSJ',5,'operator:mtn:float',1100,'credit',250,'ZMW');
INSERT INTO "posting" VALUES('je_aCtEKkNm1aJicFh2WvfgWPL7',1,'bank:settlement',1010,'debit',9900,'ZMW');
INSERT INTO "posting" VALUES('je_aCtEKkNm1aJicFh2WvfgWPL7',2,'operator:mtn:in_transit',1200,'credit',9900,'ZMW');
INSERT INTO "posting" VALUES('je_chTBygc9gnQQNCWpgCXifSlw',1,'merchant:plants:pending',2000,'debit',17062,'ZMW');
INSERT INTO "posting" VALUES('je_chTBygc9gnQQNCWpgCXifSlw',2,'merchant:plants:available',2010,'credit',17062,'ZMW');
INSERT INTO "posting" VALUES('je_eMGKTb0uYKP4KH9UO8wZ5ypS',1,'operator:mtn:float',1100,'debit',6000,'ZMW');
INSERT INTO "posting" VALUES('je_eMGKTb0uYKP4KH9UO8wZ5ypS',2,'expense:operator_fee:mtn',5000,'debit',60,'ZMW');
INSERT INTO "posting" VALUES('je_eMGKTb0uYKP4KH9UO8wZ5ypS',3,'merchant:plants:pending',2000,'credit',5850,'ZMW');
INSERT INTO "posting" VALUES('je_eMGKTb0uYKP4KH9UO8wZ5ypS',4,'income:merchant_fee',4000,'credit',150,'ZMW');
INSERT INTO "posting" VALUES('je_eMGKTb0uYKP4KH9UO8wZ5ypS',5,'operator:mtn:float',1100,'credit',60,'ZMW');
INSERT INTO "posting" VALUES('je_esXD1Qhh9KmAQmEz59ozbggJ',1,'operator:mtn:in_transit',1200,'debit',9900,'ZMW');
INSERT INTO "posting" VALUES('je_esXD1Qhh9KmAQmEz59ozbggJ',2,'operator:mtn:float',1100,'credit',9900,'ZMW');
INSERT INTO "posting" VALUES('je_icVA7H3Nv8Zgad1FIG6YdQXI',1,'operator:mtn:in_transit',1200,'debit',21750,'ZMW');
INSERT INTO "posting" VALUES('je_icVA7H3Nv8Zgad1FIG6YdQXI',2,'operator:mtn:float',1100,'credit',21750,'ZMW');
INSERT INTO "posting" VALUES('je_miR2brYoLm6XKUYy0xTf00Vk',1,'merchant:plants:pending',2000,'debit',5850,'ZMW');
INSERT INTO "posting" VALUES('je_miR2brYoLm6XKUYy0xTf00Vk',2,'merchant:plants:available',2010,'credit',5850,'ZMW');
INSERT INTO "posting" VALUES('je_nBRYVVDUQUrkQEyuSZChk0y2',1,'merchant:plants:payout',2020,'debit',4000,'ZMW');
INSERT INTO "posting" VALUES('je_nBRYVVDUQUrkQEyuSZChk0y2',2,'bank:settlement',1010,'credit',4000,'ZMW');
INSERT INTO "posting" VALUES('je_pKtGlHwJj91zIuxNpJkV9XWh',1,'operator:mtn:float',1100,'debit',10000,'ZMW');
INSERT INTO "posting" VALUES('je_pKtGlHwJj91zIuxNpJkV9XWh',2,'expense:operator_fee:mtn',5000,'debit',100,'ZMW');
INSERT INTO "posting" VALUES('je_pKtGlHwJj91zIuxNpJkV9XWh',3,'merchant:plants:pending',2000,'credit',9750,'ZMW');
INSERT INTO "posting" VALUES('je_pKtGlHwJj91zIuxNpJkV9XWh',4,'income:merchant_fee',4000,'credit',250,'ZMW');
INSERT INTO "posting" VALUES('je_pKtGlHwJj91zIuxNpJkV9XWh',5,'operator:mtn:float',1100,'credit',100,'ZMW');
INSERT INTO "posting" VALUES('je_umXo8hKxAHgL0e2dpLysDUWh',1,'operator:airtel:in_transit',1200,'debit',7425,'ZMW');
INSERT INTO "posting" VALUES('je_umXo8hKxAHgL0e2dpLysDUWh',2,'operator:airtel:float',1100,'credit',7425,'ZMW');
CREATE TABLE refund (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, account TEXT NOT NULL REFERENCES account (id),
    charge TEXT NOT NULL REFERENCES charge (id), of_intent INTEGER NOT NULL, payment_intent TEXT,
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0), currency TEXT NOT NULL, entry TEXT NOT NULL,
    status TEXT NOT NULL, reason TEXT, scenario TEXT, failure_code TEXT, metadata TEXT NOT NULL, created_ms INTEGER NOT NULL
) STRICT;
INSERT INTO "refund" VALUES('re_jjK4aT4WJAin6hJb1HxHBg4m',140,'plants','ch_KYesqhHCFejMKJgEzQXVWRX8',1,'pi_4gzYtOdZGxNTp3BYLbz5arAf',3000,'ZMW','je_2Mhuk5yPEWmo9Lr1KpemgeHp','succeeded',NULL,NULL,NULL,'{}',1767679200000);
CREATE TABLE screen (
    seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, session TEXT NOT NULL REFERENCES ussd_session (id),
    charge TEXT NOT NULL, phone TEXT NOT NULL, pressed TEXT, words TEXT NOT NULL
) STRICT;
INSERT INTO "screen" VALUES(16,1767592800000,'ussd_UzfDbgZhzV27hGaS64qo9p0Y','ch_KYesqhHCFejMKJgEzQXVWRX8','+260961111111',NULL,'MTN MoMo
Pay ZMW 100.00
to PLANT STORE
Enter PIN to approve:');
INSERT INTO "screen" VALUES(22,1767592800000,'ussd_UzfDbgZhzV27hGaS64qo9p0Y','ch_KYesqhHCFejMKJgEzQXVWRX8','+260961111111','••••','MTN MoMo
Approved.
ZMW 100.00 paid
to PLANT STORE.');
INSERT INTO "screen" VALUES(50,1767592800000,'ussd_k5lD48ghyrMbdOrIW4vTbeDZ','ch_UJlG0WcjlAzNXPafZ2NYYrF6','+260971111112',NULL,'Airtel Money
Pay ZMW 75.00
to PLANT STORE
Enter PIN to approve:');
INSERT INTO "screen" VALUES(56,1767592800000,'ussd_k5lD48ghyrMbdOrIW4vTbeDZ','ch_UJlG0WcjlAzNXPafZ2NYYrF6','+260971111112','••••','Airtel Money
Approved.
ZMW 75.00 paid
to PLANT STORE.');
INSERT INTO "screen" VALUES(83,1767592800000,'ussd_tsgTjVi9OpiIfH2Saju97SDn','ch_KYJckLc2FlbNXXE4jNA5ZYCj','+260961111113',NULL,'MTN MoMo
Pay ZMW 20.00
to PLANT STORE
Enter PIN to approve:');
INSERT INTO "screen" VALUES(90,1767593100000,'ussd_tsgTjVi9OpiIfH2Saju97SDn','ch_KYJckLc2FlbNXXE4jNA5ZYCj','+260961111113','timeout','MTN MoMo
The request has expired.
Nothing was paid.');
INSERT INTO "screen" VALUES(115,1767679200000,'ussd_tj9rJw11vvN8Ygxr6Ne2kvcY','ch_21RnQhQJQvjZpQuHRYbo1YZn','+260961111114',NULL,'MTN MoMo
Pay ZMW 250.00
to PLANT STORE
Enter PIN to approve:');
INSERT INTO "screen" VALUES(121,1767679200000,'ussd_tj9rJw11vvN8Ygxr6Ne2kvcY','ch_21RnQhQJQvjZpQuHRYbo1YZn','+260961111114','••••','MTN MoMo
Approved.
ZMW 250.00 paid
to PLANT STORE.');
INSERT INTO "screen" VALUES(170,1767776400000,'ussd_ZHYI7xCZVELtd4XoW1IWyhNg','ch_nbJDJXLWrMBPaQyhooYybE8X','+260961111115',NULL,'MTN MoMo
Pay ZMW 60.00
to PLANT STORE
Enter PIN to approve:');
INSERT INTO "screen" VALUES(176,1767776400000,'ussd_ZHYI7xCZVELtd4XoW1IWyhNg','ch_nbJDJXLWrMBPaQyhooYybE8X','+260961111115','••••','MTN MoMo
Approved.
ZMW 60.00 paid
to PLANT STORE.');
INSERT INTO "screen" VALUES(219,1767862800000,'ussd_GN1bwQ5sxck5n2w33iJj9oSZ','ch_zI6xvjMplORkQtvt1dtolODe','+260961111116',NULL,'MTN MoMo
Pay ZMW 10.00
to PLANT STORE
Enter PIN to approve:');
CREATE TABLE script (seq INTEGER PRIMARY KEY, phone TEXT NOT NULL, play TEXT NOT NULL) STRICT;
INSERT INTO "script" VALUES(5,'+260961111119','insufficient_funds');
CREATE TABLE token (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, account TEXT NOT NULL REFERENCES account (id),
    access_digest TEXT NOT NULL UNIQUE, refresh_digest TEXT NOT NULL UNIQUE,
    issued_ms INTEGER NOT NULL, retired INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE ussd_session (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, charge TEXT NOT NULL REFERENCES charge (id), phone TEXT NOT NULL,
    operator TEXT NOT NULL, merchant TEXT NOT NULL, amount_minor INTEGER NOT NULL, currency TEXT NOT NULL,
    reference TEXT, tries_left INTEGER NOT NULL, expires_ms INTEGER NOT NULL, play TEXT NOT NULL,
    screen TEXT NOT NULL, reason TEXT, ended_seq INTEGER
) STRICT;
INSERT INTO "ussd_session" VALUES('ussd_UzfDbgZhzV27hGaS64qo9p0Y',15,'ch_KYesqhHCFejMKJgEzQXVWRX8','+260961111111','MTN MoMo','PLANT STORE',10000,'ZMW',NULL,3,1767593100000,'person','approved',NULL,23);
INSERT INTO "ussd_session" VALUES('ussd_k5lD48ghyrMbdOrIW4vTbeDZ',49,'ch_UJlG0WcjlAzNXPafZ2NYYrF6','+260971111112','Airtel Money','PLANT STORE',7500,'ZMW',NULL,3,1767593100000,'person','approved',NULL,57);
INSERT INTO "ussd_session" VALUES('ussd_tsgTjVi9OpiIfH2Saju97SDn',82,'ch_KYJckLc2FlbNXXE4jNA5ZYCj','+260961111113','MTN MoMo','PLANT STORE',2000,'ZMW',NULL,3,1767593100000,'person','expired',NULL,91);
INSERT INTO "ussd_session" VALUES('ussd_tj9rJw11vvN8Ygxr6Ne2kvcY',114,'ch_21RnQhQJQvjZpQuHRYbo1YZn','+260961111114','MTN MoMo','PLANT STORE',25000,'ZMW',NULL,3,1767679500000,'person','approved',NULL,122);
INSERT INTO "ussd_session" VALUES('ussd_ZHYI7xCZVELtd4XoW1IWyhNg',169,'ch_nbJDJXLWrMBPaQyhooYybE8X','+260961111115','MTN MoMo','PLANT STORE',6000,'ZMW',NULL,3,1767776700000,'person','approved',NULL,177);
INSERT INTO "ussd_session" VALUES('ussd_GN1bwQ5sxck5n2w33iJj9oSZ',218,'ch_zI6xvjMplORkQtvt1dtolODe','+260961111116','MTN MoMo','PLANT STORE',1000,'ZMW',NULL,3,1767863100000,'person','enter_pin',NULL,NULL);
CREATE TABLE webhook_endpoint (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, account TEXT NOT NULL REFERENCES account (id),
    url TEXT NOT NULL, secret TEXT NOT NULL, enabled_events TEXT NOT NULL, status TEXT NOT NULL,
    rolls INTEGER NOT NULL, old_secrets TEXT NOT NULL, failing_since_ms INTEGER,
    faults TEXT NOT NULL, created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX charge_phone ON charge (phone, seq);
CREATE INDEX charge_intent ON charge (payment_intent);
CREATE INDEX ussd_session_phone ON ussd_session (phone, seq);
CREATE UNIQUE INDEX ussd_session_charge ON ussd_session (charge);
CREATE INDEX screen_phone ON screen (phone, seq);
CREATE TRIGGER hold_is_new BEFORE INSERT ON hold BEGIN
    SELECT RAISE(ABORT, 'a hold is never replaced')
    WHERE EXISTS (SELECT 1 FROM hold WHERE seq = NEW.seq OR (charge = NEW.charge AND change = NEW.change));
END;
CREATE TRIGGER hold_stays BEFORE UPDATE ON hold BEGIN SELECT RAISE(ABORT, 'a hold is never changed'); END;
CREATE TRIGGER hold_remains BEFORE DELETE ON hold BEGIN SELECT RAISE(ABORT, 'a hold is never deleted'); END;
CREATE UNIQUE INDEX delivery_event ON delivery (event, endpoint);
CREATE INDEX delivery_status ON delivery (status, seq);
CREATE INDEX attempt_delivery ON attempt (delivery, seq);
CREATE INDEX job_due ON job (due_ms, seq);
CREATE INDEX job_ref ON job (ref);
CREATE INDEX script_phone ON script (phone, seq);
CREATE INDEX entry_reference ON entry (external_reference) WHERE external_reference IS NOT NULL;
CREATE INDEX entry_payment ON entry (payment);
CREATE INDEX entry_settles ON entry (settles);
CREATE INDEX posting_account ON posting (account, currency);
CREATE TRIGGER entry_is_sealed BEFORE INSERT ON entry BEGIN
    SELECT RAISE(ABORT, 'an entry is never replaced')
    WHERE EXISTS (SELECT 1 FROM entry WHERE id = NEW.id OR number = NEW.number OR seq = NEW.seq OR hash = NEW.hash);
    SELECT RAISE(ABORT, 'an entry is reversed once')
    WHERE EXISTS (SELECT 1 FROM entry WHERE reverses = NEW.reverses);
    SELECT RAISE(ABORT, 'a reversal comes after its original')
    WHERE NEW.reverses IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM entry WHERE id = NEW.reverses AND occurred_ms <= NEW.occurred_ms);
    SELECT RAISE(ABORT, 'a reversal mirrors its original')
    WHERE NEW.reverses IS NOT NULL
      AND ((SELECT count(*) FROM posting WHERE entry = NEW.id)
           <> (SELECT count(*) FROM posting WHERE entry = NEW.reverses)
           OR EXISTS (
               SELECT line, account, currency, amount_minor, CASE side WHEN 'debit' THEN 'credit' ELSE 'debit' END
               FROM posting WHERE entry = NEW.reverses
               EXCEPT SELECT line, account, currency, amount_minor, side FROM posting WHERE entry = NEW.id
           ));
    SELECT RAISE(ABORT, 'an entry has at least two postings')
    WHERE (SELECT count(*) FROM posting WHERE entry = NEW.id) < 2;
    SELECT RAISE(ABORT, 'an entry balances in each currency')
    WHERE EXISTS (
        SELECT 1 FROM posting WHERE entry = NEW.id GROUP BY currency
        HAVING sum(CASE side WHEN 'debit' THEN amount_minor ELSE -amount_minor END) <> 0
    );
    SELECT RAISE(ABORT, 'an entry follows the one before')
    WHERE NEW.number <> 1 + (SELECT coalesce(max(number), 0) FROM entry)
       OR NEW.prev_hash <> coalesce((SELECT hash FROM entry ORDER BY number DESC LIMIT 1), printf('%064d', 0));
END;
CREATE TRIGGER posting_is_new BEFORE INSERT ON posting BEGIN
    SELECT RAISE(ABORT, 'a sealed entry takes no posting') WHERE EXISTS (SELECT 1 FROM entry WHERE id = NEW.entry);
    SELECT RAISE(ABORT, 'a posting is never replaced')
    WHERE EXISTS (SELECT 1 FROM posting WHERE entry = NEW.entry AND line = NEW.line);
END;
CREATE TRIGGER entry_stays BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER entry_remains BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'an entry is never deleted'); END;
CREATE TRIGGER posting_stays BEFORE UPDATE ON posting BEGIN SELECT RAISE(ABORT, 'a posting is never changed'); END;
CREATE TRIGGER posting_remains BEFORE DELETE ON posting BEGIN SELECT RAISE(ABORT, 'a posting is never deleted'); END;
COMMIT;
PRAGMA application_id = 1296914242;
PRAGMA user_version = 3;
