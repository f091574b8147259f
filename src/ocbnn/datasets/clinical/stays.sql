-- Every ICU stay with its number of whole windows, and the reason why it is left out.
-- Patients older than 89 have births moved back to about age 300: adults all the same.
CREATE TABLE stays AS
SELECT
    s.icustay_id,
    s.hadm_id,
    s.subject_id,
    s.intime,
    s.outtime,
    floor(windows_between(s.intime, s.outtime))::INTEGER AS windows,
    CASE
        WHEN s.intime IS NULL OR s.outtime IS NULL OR s.outtime <= s.intime
            THEN 'no usable times'
        WHEN p.dob IS NULL THEN 'no birth date'
        WHEN s.intime < p.dob + INTERVAL 16 YEAR THEN 'under 16'
        WHEN windows_between(s.intime, s.outtime) < 2 THEN 'shorter than two windows'
    END AS excluded
FROM icustays AS s
LEFT JOIN patients AS p USING (subject_id);

CREATE VIEW kept_stays AS SELECT * FROM stays WHERE excluded IS NULL;
