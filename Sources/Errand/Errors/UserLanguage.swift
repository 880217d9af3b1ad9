#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension [ErrorSentence] {
    /// The sentences in the language of the user.
    ///
    /// On Apple's platforms that is the language in which the app runs, and the app's table `Errand` comes first. A
    /// program on Linux has no tables: there the environment names the language, as it does for other programs.
    var inUserLanguage: String {
        #if canImport(Darwin)
        let language = Bundle.main.preferredLocalizations.first ?? "en"
        return map { sentence in
            let own = sentence.text(in: language)
            let text = Bundle.main.localizedString(forKey: sentence.key, value: own, table: "Errand")
            // `%lld` has 64 bits, and an `Int` of a watch has 32.
            return sentence.number.map { String.localizedStringWithFormat(text, Int64($0)) } ?? text
        }.joined(separator: " ")
        #else
        let language = userLanguage(in: ProcessInfo.processInfo.environment)
        return map { $0.text(in: language) }.joined(separator: " ")
        #endif
    }
}

/// Returns the language that the variables of a POSIX environment name.
func userLanguage(in environment: [String: String]) -> String {
    let names = ["LC_ALL", "LC_MESSAGES", "LANG"]
    let locale = names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? "C"
    let name = locale.prefix(before: ".@")
    return name == "C" || name == "POSIX" ? "en" : String(name)
}
