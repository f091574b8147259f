"""A hand-written MIMIC-III folder: one quiet patient, to which a test adds rows."""

import csv
import gzip
from datetime import datetime, timedelta

import duckdb

from ocbnn.tables.database import literal

ADMITTED = datetime(2150, 1, 1)
PATIENT, STAY = 7, 70
NOREPINEPHRINE, LEVOPHED = 221906, 30120
COLUMNS = {
    "PATIENTS": "ROW_ID SUBJECT_ID DOB",
    "ICUSTAYS": "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID DBSOURCE INTIME OUTTIME",
    "CHARTEVENTS": "ROW_ID SUBJECT_ID ITEMID CHARTTIME VALUE VALUENUM VALUEUOM ERROR",
    "LABEVENTS": "ROW_ID SUBJECT_ID ITEMID CHARTTIME VALUE VALUENUM",
    "OUTPUTEVENTS": "ROW_ID SUBJECT_ID ITEMID CHARTTIME VALUE VALUEUOM ISERROR",
    "INPUTEVENTS_MV": "ROW_ID SUBJECT_ID STARTTIME ENDTIME ITEMID AMOUNT AMOUNTUOM "
    "RATE RATEUOM STATUSDESCRIPTION",
    "INPUTEVENTS_CV": "ROW_ID SUBJECT_ID CHARTTIME ITEMID AMOUNT AMOUNTUOM RATE "
    "STOPPED",
}


def at(hours):
    return (ADMITTED + timedelta(hours=hours)).isoformat(sep=" ")


class TinyMimic:
    """Rows of every table; times are hours since admission."""

    def __init__(self, hours=24, quiet=True):
        self.rows = {table: [] for table in COLUMNS}
        self.patient(PATIENT)
        self.stay(STAY, PATIENT, 0, hours)
        if quiet:
            self.calm(PATIENT, hours)

    def another(self, subject):
        """One more quiet patient, whose stay of a day has ten times that number."""
        self.patient(subject).stay(10 * subject, subject, 0, 24)
        return self.calm(subject, 24)

    def calm(self, subject, hours):
        for hour in range(0, hours, 4):
            self.chart(hour + 1, 220052, 80, subject)
            self.chart(hour + 1, 220045, 70, subject)
        return self

    def add(self, table, **fields):
        self.rows[table].append({"ROW_ID": len(self.rows[table]), **fields})
        return self

    def patient(self, subject, born="2100-01-01 00:00:00"):
        return self.add("PATIENTS", SUBJECT_ID=subject, DOB=born)

    def stay(self, stay, subject, start, end):
        return self.add(
            "ICUSTAYS",
            SUBJECT_ID=subject,
            HADM_ID=stay + 1000,
            ICUSTAY_ID=stay,
            INTIME="" if start is None else at(start),
            OUTTIME="" if end is None else at(end),
        )

    def chart(self, hour, item, value, subject=PATIENT, error=""):
        return self.add(
            "CHARTEVENTS",
            SUBJECT_ID=subject,
            ITEMID=item,
            CHARTTIME=at(hour),
            VALUENUM=value,
            ERROR=error,
        )

    def lab(self, hour, item, value, subject=PATIENT):
        return self.add(
            "LABEVENTS",
            SUBJECT_ID=subject,
            ITEMID=item,
            CHARTTIME=at(hour),
            VALUENUM=value,
        )

    def output(self, hour, item, value, subject=PATIENT, error=""):
        return self.add(
            "OUTPUTEVENTS",
            SUBJECT_ID=subject,
            ITEMID=item,
            CHARTTIME=at(hour),
            VALUE=value,
            ISERROR=error,
        )

    def metavision(
        self, start, end, item, amount, unit="ml", rate="", status="", subject=PATIENT
    ):
        return self.add(
            "INPUTEVENTS_MV",
            SUBJECT_ID=subject,
            STARTTIME=at(start),
            ENDTIME=at(end),
            ITEMID=item,
            AMOUNT=amount,
            AMOUNTUOM=unit,
            RATE=rate,
            STATUSDESCRIPTION=status,
        )

    def carevue(
        self, hour, item, amount="", unit="ml", rate="", stopped="", subject=PATIENT
    ):
        return self.add(
            "INPUTEVENTS_CV",
            SUBJECT_ID=subject,
            CHARTTIME=at(hour),
            ITEMID=item,
            AMOUNT=amount,
            AMOUNTUOM=unit,
            RATE=rate,
            STOPPED=stopped,
        )

    def write(self, folder, form="csv", small=False):
        """Write every table as csv, csv.gz or parquet; `small`: in small letters."""
        folder.mkdir(parents=True, exist_ok=True)
        spell = str.lower if small else str
        for table, columns in COLUMNS.items():
            path = folder / f"{spell(table)}.csv"
            opened = gzip.open if form == "csv.gz" else open
            written = path.with_name(path.name + ".gz") if form == "csv.gz" else path
            with opened(written, "wt", newline="") as file:
                names = columns.split()
                file.write(spell(",".join(f'"{name}"' for name in names)) + "\n")
                csv.DictWriter(
                    file, names, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC
                ).writerows(self.rows[table])
            if form == "parquet":
                source, target = literal(path), literal(path.with_suffix(".parquet"))
                duckdb.execute(f"COPY (FROM read_csv({source})) TO {target}")
                path.unlink()
        return folder
